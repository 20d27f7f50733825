package guard

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAMomentarySize checks that nothing is deleted because the archive takes more space for a
// short time, such as during a compaction, although each of these sizes is above the limit.
func TestAMomentarySize(t *testing.T) {
	d := newSizedArchive(t)
	whole := d.size
	g := d.guard(whole*115/100, 0, 1, 2)
	g.cfg.Limits.Readings, g.cfg.Limits.Pause = defaultReadings, defaultPause
	for compaction := range 20 {
		for minute := range 20 {
			d.size = whole
			if minute < defaultReadings-1 {
				d.size = whole * int64(130+compaction) / 100
			}
			if st := d.check(g); st.Reason == Dropping || d.cutoff().Before != 0 {
				t.Fatalf("minute %d of compaction %d: %+v", minute, compaction, st)
			}
		}
	}
	d.size = whole * 120 / 100
	for range defaultReadings - 1 {
		d.check(g)
	}
	if d.cutoff().Before != 0 {
		t.Fatalf("the cutoff is raised after too few readings: %+v", g.Status())
	}
	if st := d.check(g); st.Reason != Dropping || d.cutoff().Before == 0 {
		t.Errorf("the archive stays above its limit, but nothing is deleted: %+v", st)
	}
}

// TestWarnOnly checks that a guard that may only warn deletes nothing.
func TestWarnOnly(t *testing.T) {
	d := newSizedArchive(t)
	g := d.guard(d.size, 0, 1, 2)
	g.cfg.Limits.WarnOnly = true
	for range 30 {
		if st := d.check(g); st.Reason != OnlyWarning || !strings.Contains(st.Message, "warn only") || d.cutoff().Before != 0 {
			t.Fatalf("%+v", st)
		}
	}
}

// TestForecast checks the time until an archive that grows evenly reaches its high-water mark.
func TestForecast(t *testing.T) {
	const perHour = 1 << 20
	var s sizes
	at, size := now, int64(1000*perHour)
	for range 24 * 60 {
		at, size = at.Add(time.Minute), size+perHour/60
		s.add(size, 3, at)
	}
	for hours, want := range map[int64]time.Duration{48: 48 * time.Hour, 24 * 6: 144 * time.Hour, 24 * 9: 0} {
		if got := s.left(size, size+hours*perHour); (got - want).Abs() > want/20 {
			t.Errorf("the archive reaches the limit in %d hours, but the forecast is %v", hours, got)
		}
	}
	s.forget()
	if got := s.left(size, size+perHour); got != 0 {
		t.Errorf("a forecast without points: %v", got)
	}
}

// TestThePauseBetweenSteps checks that the guard pauses after a step, although all shards have
// followed it.
func TestThePauseBetweenSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limits(100 * gib)
		s := State{Begins: time.Now().Add(-1000 * time.Hour).UnixNano()}
		var steps []time.Time
		for range 60 {
			d := Decide(s, l, 99*gib, time.Now())
			if d.Raised {
				steps = append(steps, time.Now())
			}
			s.Cutoff = d.Cutoff
			time.Sleep(time.Minute)
		}
		for i := range steps[1:] {
			if gap := steps[i+1].Sub(steps[i]); gap != defaultPause {
				t.Errorf("step %d follows after %v, want %v", i+1, gap, defaultPause)
			}
		}
		if len(steps) != 6 {
			t.Errorf("%d steps in an hour", len(steps))
		}
	})
}
