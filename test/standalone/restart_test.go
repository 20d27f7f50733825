package standalone

import (
	"slices"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/program"
)

// TestIOCRestart checks that the archive loses only the time without the IOC when an IOC stops
// or crashes and returns, and that marks show that time.
func TestIOCRestart(t *testing.T) {
	p := newFixture(t, 50)
	begin := time.Now()
	a := program.Standalone(t, p.ClientEnv(), "-f", p.groups, "--data", t.TempDir(), "--checkpoint", "2s")
	a.AwaitConnected(len(p.pvs))
	// The PVs count from 0 again after each restart.
	var restarts []time.Time
	for _, end := range []func(){p.Stop, p.Kill} {
		a.GoOn(1500 * time.Millisecond)
		end()
		program.Eventually(t, "all PVs are disconnected", func() bool { return a.Summary().States["disconnected"] == len(p.pvs) })
		restarts = append(restarts, time.Now())
		p.Start()
		a.AwaitConnected(len(p.pvs))
		t.Logf("connected again %.2f s after the IOC's restart began", time.Since(restarts[len(restarts)-1]).Seconds())
	}
	a.GoOn(1500 * time.Millisecond)
	checkBalance(t, a)
	for _, pv := range p.pvs {
		checkRuns(t, pv, a.Events(pv, begin), restarts)
		checkConnections(t, pv, a.Marks(pv, begin), restarts)
	}
}

// checkRuns fails the test unless the archive has all steps of each run of the IOC. Each time
// in restarts lies between two runs. The steps after the first sample of a run may be missing:
// EPICS base sends a new subscription the current value, and only then enables its updates
// (event_add_action in rsrv/camessage.c), so that it loses a change in between.
func checkRuns(t *testing.T, pv string, events []archive.Event, restarts []time.Time) {
	t.Helper()
	for i := 0; i <= len(restarts); i++ {
		n := len(events)
		if i < len(restarts) {
			n = slices.IndexFunc(events, func(e archive.Event) bool { return e.Time > restarts[i].UnixNano() })
		}
		if n < 10 {
			t.Errorf("%s: %d samples in run %d of the IOC", pv, n, i)
			return
		}
		for _, h := range holes(t, pv, events[1:n]) {
			t.Errorf("%s: %v in run %d of the IOC", pv, h, i)
		}
		events = events[n:]
	}
}

// checkConnections fails the test unless marks show a disconnection before each restart and a
// connection after it.
func checkConnections(t *testing.T, pv string, marks []archive.Mark, restarts []time.Time) {
	t.Helper()
	want, got := []string{"connected"}, []string(nil)
	for range restarts {
		want = append(want, "disconnected", "connected")
	}
	for _, m := range marks {
		got = append(got, m.Kind)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: marks are %v, want %v", pv, marks, want)
		return
	}
	for i, at := range restarts {
		if left, back := marks[2*i+1], marks[2*i+2]; left.Time.After(at) || back.Time.Before(at) || left.Text == "" {
			t.Errorf("%s: around the restart at %v, marks are %v and %v", pv, at, left, back)
		}
	}
}
