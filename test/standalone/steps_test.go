package standalone

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// step is what a PV of a plant rises by at a time. The sum is the IOC's, bit by
// bit.
const step = 0.1

// hole is where steps of a counting PV are missing.
type hole struct{ last, next event } // around it

func (h hole) missing() int { return int((h.next.Value-h.last.Value)/step+0.5) - 1 }

func (h hole) String() string {
	return fmt.Sprintf("%d steps missing from %v to %v", h.missing(), h.last, h.next)
}

// holes returns where the samples of a PV that counts leave out steps. It fails
// the test for a step that is there twice, or out of order.
func holes(t *testing.T, pv string, events []event) (found []hole) {
	t.Helper()
	for i := 1; i < len(events); i++ {
		last, next := events[i-1], events[i]
		switch {
		case next.Value == last.Value+step && next.Time > last.Time:
		case next.Value > last.Value+step && next.Time > last.Time:
			found = append(found, hole{last, next})
		default:
			t.Errorf("%s: %v (%d) is followed by %v (%d)", pv, last, last.Time, next, next.Time)
		}
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
func checkHoles(t *testing.T, all map[string][]event, outages ...outage) []losses {
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
func charge(cost []losses, outages []outage, h hole) bool {
	begin, end := time.Unix(0, h.last.Time), time.Unix(0, h.next.Time)
	for i, o := range outages {
		if begin.Before(o.to) && end.After(o.from) {
			c := &cost[i]
			c.samples += h.missing()
			c.pvs++
			c.early = max(c.early, o.from.Sub(begin))
			c.late = max(c.late, end.Sub(o.to))
			c.longest = max(c.longest, end.Sub(begin))
			return true
		}
	}
	return false
}
