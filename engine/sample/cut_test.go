package sample

import (
	"fmt"
	"testing"
)

func TestCut(t *testing.T) {
	for _, r := range []*Run{texts("one", "", "three", "four"), numbers(number(1, 1, 0), number(2, 2, 0), number(3, 3, 0), number(4, 4, 0))} {
		for from := range r.Len() + 1 {
			for to := from; to <= r.Len(); to++ {
				got := r.Clone()
				shared := got.Share()
				got.Cut(from, to)
				want := &Run{Type: r.Type}
				want.AppendRange(r, 0, from)
				want.AppendRange(r, to, r.Len())
				same(t, fmt.Sprintf("%v without %d to %d", r.Type, from, to), want, got)
				got.Append(&Sample{Bytes: []byte("more")})
				same(t, "a run that shares the bytes of the cut run", r, shared)
			}
		}
	}
}

func TestCutGivesMemoryBack(t *testing.T) {
	r := &Run{Type: Float64}
	for i := range int64(10_000) {
		r.Append(&Sample{Time: i})
	}
	r.Cut(5, 9_995)
	if room := cap(r.Times) + cap(r.Tags) + cap(r.Words); r.Len() != 10 || r.Times[5] != 9_995 || room > 3*(2*10+keptRoom) {
		t.Errorf("%d samples with room for %d", r.Len(), room)
	}
}
