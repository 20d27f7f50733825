package capture

import (
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// TestAStatusHasTheLatestUpdate checks when the latest update arrived, its own time, and why it was dropped.
func TestAStatusHasTheLatestUpdate(t *testing.T) {
	inManager(t, func(r *rig) {
		set := enabledBy("!= 0")
		set.Absolute, set.Behind, set.OnClock = 0.5, time.Hour, Refuse
		r.Apply(Assignment{0: groupOf(set, "A")})
		a, e := r.connect("A", sample.Float64), r.connect("E", sample.Float64)
		if st := r.status(t, "A"); st.Update != (Update{}) || st.Filters != "deadband 0.5, time stamps more than 1h0m0s behind are refused" {
			t.Errorf("before the first update: %+v, filters %q", st.Update, st.Filters)
		}
		behind := int64(0)
		update := func(v float64, want Update) {
			t.Helper()
			testclock.Advance(time.Second)
			s := r.float(v)
			s.Time -= behind
			want.Arrived, want.Time = r.now(), s.Time
			a.Sample(s)
			if st := r.status(t, "A"); st.Update != want {
				t.Errorf("after %v, the latest update is %+v, want %+v", v, st.Update, want)
			}
		}
		update(1, Update{First: true})
		update(2, Update{})
		update(2.1, Update{Dropped: true, Reason: sample.Deadband})
		update(3, Update{})
		behind = int64(2 * time.Hour)
		update(4, Update{Dropped: true, Reason: sample.Clock})
		behind = 0
		e.Sample(r.float(0))
		update(5, Update{Dropped: true, Reason: sample.ConditionUnmet})
	})
}
