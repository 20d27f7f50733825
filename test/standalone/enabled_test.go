package standalone

import (
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/program"
)

// TestAnotherPVEnablesTheCapture captures PVs by Channel Access only while an enumeration has a state, which the engine
// monitors by pvAccess. The program restarts while the PVs are disabled. The archive must have every step while they are
// enabled, and say why it has none in between.
func TestAnotherPVEnablesTheCapture(t *testing.T) {
	p := newFixtureOf(t, archive.Names("T:", 20), `record(bo, "T:ON") { field(ZNAM, "Off") field(ONAM, "On") field(VAL, "1") field(PINI, "YES") }`)
	p.write(t, "part-0", program.Group("part-0", `enabledBy: {pv: "pva://T:ON", when: "== 'On'"}`, p.pvs...))
	data, begin := t.TempDir(), time.Now()
	var a *program.Archiver
	start := func() {
		a = program.Standalone(t, p.ClientEnv(), "-f", p.groups, "--data", data, "--checkpoint", "2s")
	}
	disabled := func() {
		t.Helper()
		program.Eventually(t, "all PVs are disabled", func() bool { return a.Summary().States["disabled"] == len(p.pvs) })
	}
	start()
	a.AwaitConnected(len(p.pvs))
	a.GoOn(2 * time.Second)
	p.Shell("dbpf T:ON Off")
	disabled()
	off := time.Now()
	a.GoOn(time.Second)
	a.Stop()
	start()
	disabled()
	again := time.Now()
	a.GoOn(2 * time.Second)
	expect(t, []string{"get", p.pvs[0], "--url", a.URL}, `disabled: enabledBy: T:ON == 'On' has not been met since 20.*Z: T:ON is 0 \(Off\)`)
	expect(t, []string{"status", "--state", "disabled", "--url", a.URL}, `T:ON is 0 \(Off\)`)
	checkBalanceOf(t, a, "condition_unmet")
	switched := time.Now()
	p.Shell("dbpf T:ON On")
	a.AwaitConnected(len(p.pvs))
	on := time.Now()
	a.GoOn(2 * time.Second)
	for _, pv := range p.pvs {
		checkSwitched(t, pv, a.Events(pv, begin), off, again, switched, on)
	}

	p.Stop() // nothing is known of T:ON any more, and the PVs are not connected
	program.Eventually(t, "all PVs are disconnected", func() bool { return a.Summary().States["disconnected"] == len(p.pvs) })
}

// checkSwitched checks the samples of a PV. It was disabled before off, and disabled again before again, because the program
// had restarted. The other PV was switched after switched, and enabled it before on.
func checkSwitched(t *testing.T, pv string, events []archive.Event, off, again, switched, on time.Time) {
	t.Helper()
	early, late := 0, 0
	for i, e := range events {
		at := time.Unix(0, e.Time)
		switch {
		case at.Before(off):
			early++
		case at.After(again) && at.Before(switched.Add(-500*time.Millisecond)):
			t.Errorf("%s: a sample at %v, although the PV was disabled", pv, at)
		case at.After(on):
			late++
		}
		if i > 2 && (early == i+1 || late > 1) && events[i].Number() != events[i-1].Number()+1 {
			t.Errorf("%s: a hole between %v and %v while the PV was enabled", pv, events[i-1], e)
		}
	}
	if early < 10 || late < 10 {
		t.Errorf("%s: %d samples before the PV was disabled, %d after", pv, early, late)
	}
}
