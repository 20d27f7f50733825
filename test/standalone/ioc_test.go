package standalone

import (
	"fmt"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/program"
)

// many is the number of PVs for a load of 20,000 samples/s.
const many = 2000

// TestEveryStepOfARealIOC checks that the archive has every step of every PV exactly once, and
// that its samples are those that another client receives at the same time.
func TestEveryStepOfARealIOC(t *testing.T) {
	pvs := archive.Names("T:", many)
	compared := spread(pvs, 6)
	// All PVs are in alarm a few seconds after the IOC has started, perhaps before the client connects. So
	// one PV never is, and another one stays in the minor alarm.
	p := newFixtureOf(t, pvs, fmt.Sprintf(`
		record(calc, "%s") { field(HIGH, "1e9") field(HIHI, "1e9") }
		record(calc, "%s") { field(HIHI, "1e9") }
	`, compared[0], compared[1]))
	a := program.Standalone(t, p.ClientEnv(), "-f", p.groups, "--data", t.TempDir(), "--checkpoint", "4s")
	begin := a.AwaitSamples(many)
	seen := map[int]int{}
	for range either(1, 6) {
		for pv, recorded := range p.record(t, either(8*time.Second, 10*time.Second), compared...) {
			for severity, n := range compare(t, pv, a.Events(pv, begin), recorded) {
				seen[severity] += n
			}
		}
	}
	t.Logf("updates compared, by severity: %v", seen)
	for severity := range 3 {
		if seen[severity] == 0 {
			t.Errorf("no update with severity %d was compared", severity)
		}
	}
	all := a.ReadAll(p.pvs, begin)
	checkHoles(t, all)
	checkRate(t, all)
	checkBalance(t, a)
}

// checkRate fails the test if the PVs counted too slowly for a meaningful test.
func checkRate(t *testing.T, all map[string][]archive.Event) {
	t.Helper()
	samples, seconds := 0, 0.0
	for _, events := range all {
		samples += len(events)
		seconds += float64(events[len(events)-1].Time-events[0].Time) / 1e9
	}
	rate := float64(samples) / seconds
	t.Logf("%.2f samples per second and PV", rate)
	if rate < 8 {
		t.Errorf("each PV had %.1f updates per second, want about 10", rate)
	}
}

// checkBalance fails the test unless received = stored + pending + dropped for each PV. Only
// duplicates may be dropped.
func checkBalance(t *testing.T, a *program.Archiver) {
	t.Helper()
	checkBalanceOf(t, a, "duplicate")
}

// checkBalanceOf is checkBalance for samples that may be dropped for another reason.
func checkBalanceOf(t *testing.T, a *program.Archiver, allowed string) {
	t.Helper()
	for pv, c := range a.Channels() {
		sum := c.Stored + c.Pending
		for reason, n := range c.Dropped {
			if sum += n; reason != allowed && reason != "duplicate" {
				t.Errorf("%s: %d samples dropped, reason %s", pv, n, reason)
			}
		}
		if sum != c.Received {
			t.Errorf("%s: %d received, but %d accounted for", pv, c.Received, sum)
		}
	}
}
