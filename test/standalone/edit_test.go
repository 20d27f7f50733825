package standalone

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/program"
)

// TestEditConverges checks that the running program applies edits of the manifests, and that
// it reports invalid edits and ignores them.
func TestEditConverges(t *testing.T) {
	p := newFixture(t, 20)
	p.write(t, "part-0", program.Group("edited", "", p.pvs[:5]...))
	p.write(t, "other", program.Group("other", "", p.pvs[15:]...))
	a := program.Standalone(t, p.ClientEnv(), "-f", p.groups, "--data", t.TempDir())
	begin := a.AwaitSamples(10)
	e := &editor{t: t, fixture: p, Archiver: a, begin: begin}

	e.edit("a PV is added", program.Group("edited", "", p.pvs[:6]...), func(c map[string]archive.Channel) bool {
		return c[p.pvs[5]].State == "connected" && c[p.pvs[5]].Stored > 0
	})
	e.edit("PVs are removed", program.Group("edited", "", p.pvs[2:6]...), func(c map[string]archive.Channel) bool {
		return c[p.pvs[0]].PV == "" && c[p.pvs[1]].PV == "" && len(c) == 9
	})
	if n := len(a.Events(p.pvs[0], begin)); n == 0 {
		t.Error("the data of a removed PV is lost")
	}
	e.scan()
	e.pause()
	e.deadband()
	e.broken()

	p.remove(t, "other")
	e.await("a deleted file ends its group", func(c map[string]archive.Channel) bool { return c[p.pvs[15]].PV == "" && len(c) == 4 })
	if n := len(a.Events(p.pvs[15], begin)); n == 0 {
		t.Error("the data of a removed group is lost")
	}
	// This PV was in the group during all edits.
	checkHoles(t, a.ReadAll(p.pvs[2:3], begin), e.outages...)
}

// editor edits the manifest of a group and checks the effects.
type editor struct {
	t *testing.T
	*fixture
	*program.Archiver
	begin   time.Time
	outages []outage // times in which samples of the group are missing because of an edit
}

func (e *editor) edit(what, manifest string, done func(map[string]archive.Channel) bool) {
	e.t.Helper()
	e.write(e.t, "part-0", manifest)
	e.await(what, done)
}

// await waits until done reports that the channels have the expected state.
func (e *editor) await(what string, done func(map[string]archive.Channel) bool) {
	e.t.Helper()
	start := time.Now()
	program.Eventually(e.t, what, func() bool { return done(e.Channels()) })
	e.t.Logf("%s: %.2f s after the edit", what, time.Since(start).Seconds())
}

// monitored reports whether the group is connected and monitored, as at the beginning.
func (e *editor) monitored(c map[string]archive.Channel) bool {
	return c[e.pvs[2]].State == "connected" && c[e.pvs[2]].Sampling == "Monitor"
}

// scan switches the group to scanning for a while. The archive must have one sample per second.
func (e *editor) scan() {
	from := time.Now()
	e.edit("the group is scanned", program.Group("edited", "sampling: {mode: Scan, period: 1s}", e.pvs[2:6]...),
		func(c map[string]archive.Channel) bool { return c[e.pvs[2]].Sampling == "Scan 1s" })
	scanned := time.Now()
	e.GoOn(3 * time.Second)
	to := time.Now()
	e.edit("the group is monitored again", program.Group("edited", "", e.pvs[2:6]...), e.monitored)
	e.outages = append(e.outages, outage{"Scan", from, time.Now()})
	var seconds []int64
	for _, s := range e.Events(e.pvs[2], scanned) {
		if s.Time < to.UnixNano() {
			seconds = append(seconds, s.Time/1e9)
		}
	}
	if n := len(seconds); n < 2 || n > 5 || n != len(slices.Compact(slices.Clone(seconds))) {
		e.t.Errorf("a PV scanned every second for 3 s has samples in the seconds %v", seconds)
	}
}

// pause pauses the group for a while. Marks must show the pause.
func (e *editor) pause() {
	from := time.Now()
	e.edit("the group is paused", program.Group("edited", "paused: true", e.pvs[2:6]...),
		func(c map[string]archive.Channel) bool { return c[e.pvs[2]].State == "paused" })
	paused := time.Now()
	e.GoOn(time.Second)
	if n := len(e.Events(e.pvs[2], paused)); n > 0 {
		e.t.Errorf("a paused PV has %d samples", n)
	}
	e.edit("the group is resumed", program.Group("edited", "", e.pvs[2:6]...), e.monitored)
	e.outages = append(e.outages, outage{"pause", from, time.Now()})
	var kinds []string
	program.Eventually(e.t, "marks show the pause", func() bool {
		kinds = nil
		for _, m := range e.Marks(e.pvs[2], from) {
			kinds = append(kinds, m.Kind)
		}
		return slices.Equal(kinds, []string{"paused", "resumed", "connected"})
	})
}

// deadband gives the group a deadband of 0.55 for a while.
func (e *editor) deadband() {
	from := time.Now()
	e.edit("the group has a deadband", program.Group("edited", "sampling: {deadband: {absolute: 0.55}}", e.pvs[2:6]...),
		func(c map[string]archive.Channel) bool { return c[e.pvs[2]].Dropped["deadband"] > 20 })
	to := time.Now()
	e.edit("the group has no deadband", program.Group("edited", "", e.pvs[2:6]...), func(c map[string]archive.Channel) bool {
		return time.Since(to) > time.Second && e.monitored(c)
	})
	e.outages = append(e.outages, outage{"deadband", from, time.Now()})
	for _, h := range holes(e.t, e.pvs[2], e.Events(e.pvs[2], from)) {
		if h.Next.Time > to.UnixNano() {
			break
		}
		if alarm := h.Next.Severity != h.Last.Severity; h.Missing() != 5 && !alarm {
			e.t.Errorf("with a deadband of 0.55: %v", h)
		}
	}
}

// broken writes invalid manifests. Capture must go on, and the log must report the errors.
func (e *editor) broken() {
	e.write(e.t, "part-0", strings.Replace(program.Group("edited", "", e.pvs[2:6]...), "channels:", "chanels:", 1))
	e.write(e.t, "third", "not: [YAML")
	program.Eventually(e.t, "the log reports the errors", func() bool {
		log := e.Log.String()
		return strings.Contains(log, `part-0.yaml:6: ArchiveGroup \"edited\": unknown field \"spec.chanels\"`) && strings.Contains(log, "third.yaml")
	})
	before := e.Channels()
	e.GoOn(time.Second)
	for pv, c := range e.Channels() {
		if was := before[pv]; c.State != "connected" || c.Received < was.Received+5 {
			e.t.Errorf("%s is %s and received %d updates in a second, want at least 5", pv, c.State, c.Received-was.Received)
		}
	}
	if len(before) != 9 {
		e.t.Errorf("after an invalid edit, %d PVs are archived, want 9", len(before))
	}
	if code, _ := e.Get("/healthz", url.Values{}); code != 200 {
		e.t.Errorf("healthz answers %d", code)
	}
	e.remove(e.t, "third")
	e.edit("the edit is corrected", program.Group("edited", "", e.pvs[2:6]...), e.monitored)
}
