package store

import (
	"math"
	"slices"
	"testing"

	"varve.dev/varve/engine/sample"
)

// TestMask compares a mask of ranges that overlap and touch with the ranges themselves.
func TestMask(t *testing.T) {
	c := Channel{Deleted: []Deleted{{From: 20, To: 30}, {From: 10, To: 12}, {From: 25, To: 40, Done: true}, {From: 25, To: 40}, {From: 13, To: 14}, {From: 60, To: 50}, {From: 90, To: math.MaxInt64}}}
	m := c.Mask()
	if want := (Mask{{From: 10, To: 14}, {From: 20, To: 40}, {From: 90, To: math.MaxInt64}}); !slices.Equal(m, want) {
		t.Fatalf("mask %v, want %v", m, want)
	}
	hides := func(at int64) bool {
		return slices.ContainsFunc(c.Deleted, func(d Deleted) bool { return d.From <= at && at <= d.To })
	}
	r := &sample.Run{Type: sample.Float64}
	for from := int64(0); from < 100; from++ {
		r.Append(&sample.Sample{Time: from, Word: uint64(from)})
		if m.Hides(from) != hides(from) {
			t.Errorf("%d is hidden: %v", from, m.Hides(from))
		}
		whole, part := true, false
		for to := from; to < 100; to++ {
			whole, part = whole && hides(to), part || hides(to)
			if m.HidesAll(from, to) != whole || m.Overlaps(from, to) != part || (len(m.Within(from, to)) > 0) != part {
				t.Errorf("from %d to %d: %v %v %v", from, to, m.HidesAll(from, to), m.Overlaps(from, to), m.Within(from, to))
			}
		}
	}
	kept := m.Keep(r)
	for i, at := range kept.Times {
		if hides(at) || kept.Words[i] != uint64(at) {
			t.Errorf("sample %d at %d is kept", i, at)
		}
	}
	if kept.Len() != 100-5-21-10 || m.Keep(kept) != kept || r.Len() != 100 {
		t.Errorf("%d samples are kept, and the run has %d", kept.Len(), r.Len())
	}
	whole := Channel{Deleted: []Deleted{{From: math.MinInt64, To: 10}, {From: math.MinInt64, To: 20}, {From: math.MinInt64, To: 20, Done: true}, {From: 15, To: math.MaxInt64}, {From: 16, To: math.MaxInt64}}}
	if m := whole.Mask(); !slices.Equal(m, Mask{{From: math.MinInt64, To: math.MaxInt64}}) {
		t.Errorf("without ends: %v", m)
	}
	if open := c.OpenMask(); !slices.Equal(open, Mask{{From: 10, To: 14}, {From: 20, To: 30}, {From: 90, To: math.MaxInt64}}) {
		t.Errorf("not done: %v", open)
	}
}
