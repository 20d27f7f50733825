package native

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// numbered are n PVs with descriptions.
type numbered int

func (n numbered) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		for i := range int(n) {
			m := &sample.Metadata{Properties: []sample.Property{{Name: "DESC", Value: fmt.Sprintf("Vacuum gauge %d of sector %d", i, i%40)}}}
			if !yield(capture.Status{PV: fmt.Sprintf("SR:DEVICE%07d:PRES", i), Metadata: m}, nil) {
				return
			}
		}
	}
}

func (numbered) Status(context.Context, string) (s capture.Status, captured bool, err error) {
	return s, false, nil
}

func everyPV(string) bool { return true }

// TestIndexIsBounded checks that a full index says which PVs are missing.
func TestIndexIsBounded(t *testing.T) {
	d := NewDescriptions(numbered(1000), time.Now)
	d.bytes = 1000
	x, err := d.get(t.Context())
	if err != nil || x.incomplete != "the index has no room for all PVs" || len(x.text) > 1000 {
		t.Fatalf("the index has %d bytes, and lacks PVs because %q: %v", len(x.text), x.incomplete, err)
	}
	if found, err := x.search(t.Context(), []string{"gauge"}, everyPV, 100); len(found) != 20 || err != nil {
		t.Errorf("%d PVs are found: %v", len(found), err)
	}
}

// TestIndexOutlivesItsFirstClient checks that a client that disconnects does not end the building of the index, and
// that one that waits for it can go.
func TestIndexOutlivesItsFirstClient(t *testing.T) {
	d := NewDescriptions(numbered(10), time.Now)
	gone, leave := context.WithCancel(t.Context())
	leave()
	<-d.building // as while another client builds the index
	if _, err := d.get(gone); err == nil {
		t.Error("a client that disconnected waits for the index")
	}
	if x := d.build(gone); x.incomplete != "" || len(x.ends) != 20 {
		t.Errorf("the index has %d entries, and lacks PVs because %q", len(x.ends)/2, x.incomplete)
	}
}

// BenchmarkSearchDescriptions searches a million descriptions that have both words, but only the last PV passes.
func BenchmarkSearchDescriptions(b *testing.B) {
	const n = 1_000_000
	x, err := NewDescriptions(numbered(n), time.Now).get(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		found, err := x.search(b.Context(), []string{"gauge", fmt.Sprint(n - 1)}, everyPV, 50)
		if len(found) != 1 || err != nil {
			b.Fatalf("%v: %v", found, err)
		}
	}
	b.ReportMetric(float64(len(x.text)+4*len(x.ends)), "index-bytes")
}
