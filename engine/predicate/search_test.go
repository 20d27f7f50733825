package predicate

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// TestLagIsUnknown checks that a search knows nothing after the time until which samples are complete.
func TestLagIsUnknown(t *testing.T) {
	a := newArchive(t, 1)
	r := &sample.Run{Type: sample.Float64}
	r.Append(&sample.Sample{Time: base, Word: math.Float64bits(1)})
	a.put("A", 1, r)
	for shard := range 4 {
		a.check(a.st.PutClaim(t.Context(), store.Claim{Shard: shard, Writer: store.WriterID{1}, Since: base, Saved: base + 10*second}))
	}
	a.reader.Recent = unanswered{}
	s := a.search("A > 0", base, base+20*second)
	var got []Interval
	for i, err := range s.Intervals(t.Context()) {
		a.check(err)
		got = append(got, i)
	}
	if want := []Interval{{base, base + 10*second, True}, {base + 10*second, base + 20*second + 1, Unknown}}; !slices.Equal(got, want) || s.CompleteUntil() != base+10*second {
		t.Errorf("the intervals are %v, complete until %d", got, s.CompleteUntil()-base)
	}
}

// unanswered is engines that do not answer.
type unanswered struct{}

func (unanswered) Recent(context.Context, query.RecentRequest) query.Held {
	return query.Held{Unanswered: true, Shards: []int{0}}
}

// TestRefusedConditions checks conditions that do not fit the PV.
func TestRefusedConditions(t *testing.T) {
	a := newArchive(t, 1)
	a.fill()
	w := &sample.Run{Type: sample.Float64.Array()}
	w.Append(&sample.Sample{Time: base, Bytes: make([]byte, 80)})
	a.put("W", 1, w)
	a.search("severity(W) > MINOR", base, base+length)
	for text, says := range map[string]string{
		"A > 1 and W > 1": "at character 11: W has values of type float64[], which cannot be compared",
		"A = 'x'":         "at character 1: A has values of type float64, compare it with a number",
		"S > 1":           "S has values of type string, compare it with a text",
		"E = 'Open'":      "no state of E has the label 'Open'; its labels are '0', '1'",
	} {
		p, err := Parse(text)
		a.check(err)
		_, err = p.Bind(t.Context(), a.reader, text, base, base+length, base+1e6*second)
		if refused := (RefusedError{}); !errors.As(err, &refused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	p, err := Parse("A > 1 or NONE > 1")
	a.check(err)
	_, err = p.Bind(t.Context(), a.reader, "A > 1 or NONE > 1", base, base+length, base+1e6*second)
	if unknown := (UnknownPVError{}); !errors.As(err, &unknown) || unknown != (UnknownPVError{"NONE", 10}) {
		t.Errorf("an unknown PV: %v", err)
	}
	a.check(a.st.PutMetadata(t.Context(), store.PVMetadata{PV: "E", Time: base + 5*second, Metadata: sample.Metadata{Labels: []string{"1", "0"}}}))
	p, err = Parse("E = '1'")
	a.check(err)
	if _, err = p.Bind(t.Context(), a.reader, "E = '1'", base, base+length, base+1e6*second); err == nil || !strings.Contains(err.Error(), "names other states") {
		t.Errorf("a label that moved: %v", err)
	}
}
