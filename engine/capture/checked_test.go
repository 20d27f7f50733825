package capture

import (
	"math"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// TestAValueThatDiffersIsStored checks which values that a source reads from a quiet channel differ from
// the last sample, and that those are stored.
func TestAValueThatDiffersIsStored(t *testing.T) {
	at := func(r *rig, v float64, severity sample.Severity) *sample.Sample {
		return &sample.Sample{Time: r.now(), Word: math.Float64bits(v), Tag: sample.MakeTag(severity, 0)}
	}
	for name, c := range map[string]struct {
		set      Settings
		value    float64
		severity sample.Severity
		differs  bool
	}{
		"the same, with a new time":         {value: 5},
		"another value":                     {value: 6, differs: true},
		"another severity":                  {value: 5, severity: sample.Minor, differs: true},
		"within the deadband":               {set: Settings{Absolute: 2}, value: 6},
		"beyond the deadband":               {set: Settings{Absolute: 2}, value: 8, differs: true},
		"too old, but the first after long": {set: Settings{Behind: time.Second, OnClock: Refuse}, value: 6, differs: true},
	} {
		t.Run(name, func(t *testing.T) {
			inManager(t, func(r *rig) {
				r.Apply(Assignment{0: groupOf(c.set, "A")})
				sink := r.connect("A", sample.Float64)
				sink.Sample(at(r, 5, sample.NoAlarm))
				testclock.Advance(time.Hour)
				s := at(r, c.value, c.severity)
				s.Time -= int64(time.Minute)
				if got := sink.Checked(s, time.Now()); got != c.differs {
					t.Errorf("differs: %v", got)
				}
				testclock.Advance(5 * time.Second)
				want := uint64(1)
				if c.differs {
					want = 2
				}
				if st := r.status(t, "A"); st.Stored != want || st.Received != want {
					t.Errorf("%d samples are received, %d stored, want %d", st.Received, st.Stored, want)
				}
			})
		})
	}
}

// TestAChannelIsSilentUntilItsFirstValue checks the status of a channel that is connected and gets no
// value, at first and after a reconnect.
func TestAChannelIsSilentUntilItsFirstValue(t *testing.T) {
	inManager(t, func(r *rig) {
		silent := func(what string, want bool) {
			t.Helper()
			if got := r.status(t, "A").Silent; got != want {
				t.Errorf("%s: silent: %v", what, got)
			}
		}
		r.Apply(Assignment{0: groupOf(Settings{}, "A")})
		silent("not connected", false)
		sink := r.connect("A", sample.Float64)
		silent("just connected", false)
		testclock.Advance(time.Minute)
		silent("no value for a minute", true)
		sink.Sample(&sample.Sample{Time: r.now()})
		testclock.Advance(time.Hour)
		silent("a constant value", false)
		sink.Disconnected(nil)
		silent("disconnected", false)
		sink = r.connect("A", sample.Float64)
		testclock.Advance(time.Minute)
		silent("no value after a reconnect", true)
		if !sink.Checked(&sample.Sample{Time: r.now(), Word: 1}, time.Now()) {
			t.Error("the value of a check does not differ")
		}
		silent("the value of a check", false)
	})
}
