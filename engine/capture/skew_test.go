package capture

import (
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// TestAStepOfTheEngineClockLosesNothing checks channels in Scan mode whose samples get the engine's
// time: after a step of the clock, each second still keeps a sample.
func TestAStepOfTheEngineClockLosesNothing(t *testing.T) {
	for _, step := range []time.Duration{-4 * time.Minute, 4 * time.Minute} {
		inManager(t, func(r *rig) {
			r.Apply(Assignment{0: {{PV: "A", Settings: &Settings{Mode: Scan, Period: time.Second, Clock: EngineClock}}}})
			sink := r.connect("A", sample.Float64)
			const seconds = 20
			for i := range seconds * 10 {
				if i == seconds*5 {
					r.skew.Store(int64(step))
				}
				sink.Sample(&sample.Sample{Time: r.now(), Word: uint64(i)})
				testclock.Advance(100 * time.Millisecond)
			}
			st, _ := r.Status("A")
			if kept := st.Received - st.Dropped[sample.Scan]; kept < seconds-1 {
				t.Errorf("a step of %v: %d samples kept in %d s", step, kept, seconds)
			}
		})
	}
}

// TestAStepOfTheEngineClockChangesNoState checks that steadiness and rates do not depend on the
// clock of the engine.
func TestAStepOfTheEngineClockChangesNoState(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: {{PV: "A", Settings: &Settings{}}}})
		sink := r.connect("A", sample.Float64)
		r.skew.Store(-int64(time.Hour))
		for i := range 600 {
			sink.Sample(&sample.Sample{Time: int64(i), Word: uint64(i)})
			testclock.Advance(100 * time.Millisecond)
		}
		if s := r.ShardStatus(0); s.SteadilyConnected != 1 || s.Rate < 9 || s.Rate > 11 {
			t.Errorf("a minute after the clock was set back an hour: %+v", s)
		}
	})
}

// TestTheTimesOfIOCsAreHeard checks what the manager reports about the clocks of IOCs: the latest
// sample of each channel, but not the first after a connect, whose time may be long ago.
func TestTheTimesOfIOCsAreHeard(t *testing.T) {
	inManager(t, func(r *rig) {
		set := &Settings{Clock: EngineClock}
		r.Apply(Assignment{0: {{PV: "A", Settings: set}, {PV: "B", Settings: set}}})
		a, b := r.connect("A", sample.Float64), r.connect("B", sample.Float64)
		a.Sample(&sample.Sample{Time: 1})
		b.Sample(&sample.Sample{Time: 2})
		testclock.Advance(time.Second)
		a.Sample(&sample.Sample{Time: 1000, Word: 1})
		at := r.instant().Monotonic
		testclock.Advance(reportEvery)
		if got := *r.heard.Load(); len(got) != 1 || got[0].Time != 1000 || got[0].Server != "ioc:5064" || got[0].Monotonic != at {
			t.Errorf("heard %+v", got)
		}
		testclock.Advance(reportEvery)
		if got := *r.heard.Load(); len(got) != 0 {
			t.Errorf("heard again: %+v", got)
		}
	})
}
