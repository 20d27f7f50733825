package archiverstatus

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

// TestWorstCircuitsAreListed adds up the connections of all engines to each IOC.
func TestWorstCircuitsAreListed(t *testing.T) {
	in := healthy()
	in.Fleet[0].Report.Circuits = []report.Circuit{{Host: "a", Count: 2}, {Host: "b", Count: 3}, {Host: "lone", Count: 1}}
	in.Fleet[1].Report.Circuits = []report.Circuit{{Host: "a", Count: 4}, {Host: "c", Count: 3}}
	want := []v1alpha1.CircuitCount{{Host: "a", Circuits: 6}, {Host: "b", Circuits: 3}, {Host: "c", Circuits: 3}}
	s := Compute(in)
	if !slices.Equal(s.WorstCircuits, want) {
		t.Errorf("got %v, want %v", s.WorstCircuits, want)
	}
	in.Archiver.Status, in.Synced = &s, false
	in.Fleet[0].Report, in.Fleet[1].Report = nil, nil
	if got := Compute(in).WorstCircuits; !slices.Equal(got, want) {
		t.Errorf("before the first report %v, want %v", got, want)
	}
	in.Synced = true
	if got := Compute(in).WorstCircuits; len(got) != 0 {
		t.Errorf("without reports: got %v", got)
	}
	in = healthy()
	for i := range 9 {
		in.Fleet[0].Report.Circuits = append(in.Fleet[0].Report.Circuits, report.Circuit{Host: fmt.Sprint(i), Count: 10 + i})
	}
	if got := Compute(in).WorstCircuits; len(got) != worstShown || got[0].Host != "8" {
		t.Errorf("of many IOCs: got %v", got)
	}
}

// TestMovesAreWrittenEveryFiveSeconds checks that the first and the last of several moves are
// written at once. The moves between them are written at most every five seconds.
func TestMovesAreWrittenEveryFiveSeconds(t *testing.T) {
	status := func(progress string) v1alpha1.ArchiverStatus {
		in := healthy()
		if progress != "" {
			in.Moves = &v1alpha1.MovesStatus{Progress: progress}
		}
		return Compute(in)
	}
	for _, c := range []struct {
		from, to string
		since    time.Duration
		want     bool
	}{
		{"", "0/8", time.Second, true},
		{"0/8", "1/8", time.Second, false},
		{"0/8", "1/8", movesEvery, true},
		{"7/8", "", time.Second, true},
	} {
		old := status(c.from)
		if got := Changed(&old, status(c.to), c.since); got != c.want {
			t.Errorf("%q to %q after %v: written is %v", c.from, c.to, c.since, got)
		}
	}
}
