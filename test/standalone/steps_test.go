package standalone

import (
	"maps"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
)

// holes returns the holes in the samples of a counting PV. It fails the test if a step is
// duplicated or out of order.
func holes(t *testing.T, pv string, events []archive.Event) []archive.Hole {
	t.Helper()
	found, err := archive.Holes(events)
	if err != nil {
		t.Errorf("%s: %v", pv, err)
	}
	return found
}

// outage is a time span in which samples may be missing.
type outage struct {
	name     string
	from, to time.Time
}

// losses is the total loss of all PVs in an outage.
type losses struct {
	samples, pvs int
	early, late  time.Duration // the longest loss before the outage began, and after it ended
	longest      time.Duration // the longest time between two samples
}

// checkHoles fails the test if steps are missing outside of the outages. It returns the losses in
// each outage.
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
			t.FailNow() // the other PVs probably fail in the same way
		}
	}
	for i, o := range outages {
		t.Logf("%s, %.2f s: %d samples of %d PVs missing; the longest gap has %.2f s; it begins %.2f s before and ends %.2f s after",
			o.name, o.to.Sub(o.from).Seconds(), cost[i].samples, cost[i].pvs, cost[i].longest.Seconds(),
			cost[i].early.Seconds(), cost[i].late.Seconds())
	}
	return cost
}

// charge adds a hole to the losses of the outage that overlaps it. It returns false if no outage
// overlaps the hole.
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
