package standalone

import (
	"slices"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/program"
)

// flush is the longest time until the archiver sends a sample to the store. delay is the
// additional time that a busy machine may need until the store acknowledges it.
const (
	flush = 500 * time.Millisecond
	delay = 1500 * time.Millisecond
)

func TestKillAndRestart(t *testing.T) { killAndRestart(t, 2, "--data", t.TempDir()) }

// killAndRestart kills the program several times and stops it once. A kill may lose the
// samples of the last flush interval and of the time until the PVs are connected again, and
// marks must cover this loss. A stop must not lose any received sample.
func killAndRestart(t *testing.T, kills int, storage ...string) {
	p := newFixture(t, many)
	args := append([]string{"-f", p.groups, "--checkpoint", "10s"}, storage...)
	load := either(3*time.Second, 20*time.Second)
	a := program.Standalone(t, p.ClientEnv(), args...)
	begin := a.AwaitSamples(many)
	a.GoOn(load)

	restart := func(name string, end func()) outage {
		o := outage{name: name, from: time.Now()}
		end()
		a = program.Standalone(t, p.ClientEnv(), args...)
		a.AwaitConnected(many)
		o.to = time.Now()
		return o
	}
	var outages []outage
	for range kills {
		outages = append(outages, restart("kill -9", a.Kill))
		a.GoOn(load)
	}
	channels := a.Channels()
	outages = append(outages, restart("SIGTERM", a.Stop))

	all := a.ReadAll(p.pvs, begin)
	for _, cost := range checkHoles(t, all, outages...)[:kills] {
		if cost.early > flush+delay {
			t.Errorf("a kill loses samples of the %v before it", cost.early)
		}
	}
	checkPresent(t, all, channels)
	for _, pv := range p.spread(20) {
		checkMarks(t, a, pv, all[pv], outages[:kills])
	}
}

// checkPresent fails the test unless the archive has the last sample of each PV that the
// program reported before it ended.
func checkPresent(t *testing.T, all map[string][]archive.Event, reported map[string]archive.Channel) {
	t.Helper()
	for pv, c := range reported {
		if !slices.ContainsFunc(all[pv], func(e archive.Event) bool { return e.Time == c.Last.Time.UnixNano() }) {
			t.Fatalf("%s: the sample of %v was received before the stop and is missing", pv, c.Last.Time)
		}
	}
}

// checkMarks fails the test unless marks cover the hole of each kill, from "died" to the next
// "connected". With a shared Cassandra, a process waits before it marks another one as dead.
func checkMarks(t *testing.T, a *program.Archiver, pv string, events []archive.Event, kills []outage) {
	t.Helper()
	var marks []archive.Mark
	deaths := func() (n int) {
		marks = a.Marks(pv, time.Unix(0, events[0].Time).Add(-time.Minute))
		for _, m := range marks {
			if m.Kind == "died" {
				n++
			}
		}
		return n
	}
	program.Eventually(t, "every death is marked", func() bool { return deaths() >= len(kills) })
	if n := deaths(); n != len(kills) {
		t.Errorf("%s: %d deaths are marked, want %d: %v", pv, n, len(kills), marks)
	}
	for _, h := range holes(t, pv, events) {
		// A hole that ends after the last kill comes from the stop, which is not marked as a death.
		if time.Unix(0, h.Next.Time).Before(kills[len(kills)-1].to) && !explained(h, marks) {
			t.Errorf("%s: no marks explain this hole: %v\n%v", pv, h, marks)
		}
	}
}

// explained reports whether marks cover a hole.
func explained(h archive.Hole, marks []archive.Mark) bool {
	const tolerance = 200 * time.Millisecond // difference between a sample's time stamp and its time of arrival
	begin, end := time.Unix(0, h.Last.Time), time.Unix(0, h.Next.Time)
	for i, m := range marks {
		if m.Kind != "died" || m.Time.After(begin.Add(tolerance)) || m.End.Before(end.Add(-delay)) {
			continue
		}
		for _, next := range marks[i:] {
			if next.Kind == "connected" && next.Time.After(end.Add(-tolerance)) {
				return true
			}
		}
	}
	return false
}
