package standalone

import (
	"maps"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
)

// holes returns where the samples of a PV that counts leave out steps. It fails
// the test for a step that is there twice, or out of order.
func holes(t *testing.T, pv string, events []archive.Event) []archive.Hole {
	t.Helper()
	found, err := archive.Holes(events)
	if err != nil {
		t.Errorf("%s: %v", pv, err)
	}
	return found
}

// outage is a time in which samples may be missing.
type outage struct {
	name     string
	from, to time.Time
}

// losses sums up what an outage cost.
type losses struct {
	samples, pvs int
	early, late  time.Duration // the largest loss before it began, and after it ended
	longest      time.Duration // between two samples
}

// checkHoles fails the test for steps that are missing outside of outages, and
// returns what each of these cost.
func checkHoles(t *testing.T, all map[string][]archive.Event, outages ...outage) []losses {
	t.Helper()
	cost := make([]losses, len(outages))
	for _, pv := range slices.Sorted(maps.Keys(all)) {
		events := all[pv]
		if len(events) == 0 {
			t.Errorf("%s has no samples", pv)
		}
		for _, h := range holes(t, pv, events) {
			if !charge(cost, outages, h) {
				t.Errorf("%s: %v", pv, h)
			}
		}
		if t.Failed() {
			t.FailNow() // the other PVs look alike
		}
	}
	for i, o := range outages {
		t.Logf("%s, %.2f s: %d samples of %d PVs missing; the longest gap has %.2f s; it begins %.2f s before and ends %.2f s after",
			o.name, o.to.Sub(o.from).Seconds(), cost[i].samples, cost[i].pvs, cost[i].longest.Seconds(),
			cost[i].early.Seconds(), cost[i].late.Seconds())
	}
	return cost
}

// charge adds a hole to the cost of the outage that overlaps it.
func charge(cost []losses, outages []outage, h archive.Hole) bool {
	begin, end := time.Unix(0, h.Last.Time), time.Unix(0, h.Next.Time)
	for i, o := range outages {
		if begin.Before(o.to) && end.After(o.from) {
			c := &cost[i]
			c.samples += h.Missing()
			c.pvs++
			c.early = max(c.early, o.from.Sub(begin))
			c.late = max(c.late, end.Sub(o.to))
			c.longest = max(c.longest, end.Sub(begin))
			return true
		}
	}
	return false
}
