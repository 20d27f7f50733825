package capture

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// enabledBy returns settings of channels that the PV E enables.
func enabledBy(when string) Settings { return Settings{EnabledBy: "ca://E " + when} }

// float returns a sample of a Float64.
func (r *rig) float(v float64) *sample.Sample {
	return &sample.Sample{Time: r.now(), Word: math.Float64bits(v)}
}

// lastOf returns the last value that a channel kept.
func (r *rig) lastOf(t *testing.T, pv string) float64 {
	t.Helper()
	st := r.status(t, pv)
	return math.Float64frombits(st.Last.Word)
}

// wantMarks checks the kinds of all marks since the previous call, by PV and then by time.
func (r *rig) wantMarks(t *testing.T, when string, want ...string) {
	t.Helper()
	r.marks.mu.Lock()
	defer r.marks.mu.Unlock()
	slices.SortStableFunc(r.marks.all, func(a, b string) int { return cmp.Compare(a[:1], b[:1]) })
	if !slices.Equal(r.marks.all, want) {
		t.Errorf("%s: marks %q, want %q", when, r.marks.all, want)
	}
	r.marks.all = nil
}

// TestAConditionDisablesAChannel checks which samples of a channel are kept while the condition on another PV is not
// met, and what users see.
func TestAConditionDisablesAChannel(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(enabledBy("!= 0"), "A")})
		a, e := r.connect("A", sample.Float64), r.connect("E", sample.Float64)
		a.Sample(r.float(1))
		testclock.Advance(time.Second)
		r.wantMarks(t, "enabled", "A connected")
		if st := r.status(t, "A"); st.State != Connected || !strings.Contains(st.EnabledBy, "it is not known whether E != 0 is met: E has no value; the PV is captured meanwhile") {
			t.Errorf("before the first value: %v %q", st.State, st.EnabledBy)
		}

		e.Sample(r.float(0))
		since := r.now()
		testclock.Advance(time.Second)
		r.wantMarks(t, "disabled", "A disabled")
		m := r.marks.latest("A")
		if want := "disabled by E is 0: captured only while E != 0"; m.Text != want || m.Time < since || m.Time > since+int64(time.Second) {
			t.Errorf("mark %q at %d, want %q at %d", m.Text, m.Time, want, since)
		}
		for v := range 5 {
			a.Sample(r.float(float64(10 + v)))
			testclock.Advance(time.Second)
		}
		held := r.now() - int64(time.Second)
		st := r.status(t, "A")
		if st.State != Disabled || st.Absent != sample.Disabled || st.Since > since+int64(time.Second) || !strings.HasPrefix(st.Cause, "enabledBy: E != 0 has not been met since 2000-") || !strings.HasSuffix(st.Cause, ": E is 0") {
			t.Errorf("disabled: %v since %d: %q", st.State, st.Since, st.Cause)
		}
		if st.Received != 6 || st.Dropped[sample.ConditionUnmet] != 4 || r.lastOf(t, "A") != 1 {
			t.Errorf("disabled: received %d, dropped %v, last %v", st.Received, st.Dropped, r.lastOf(t, "A"))
		}

		e.Sample(r.float(2))
		testclock.Advance(time.Second)
		r.wantMarks(t, "enabled again", "A connected")
		st = r.status(t, "A")
		if st.State != Connected || st.Cause != "" || st.EnabledBy != "E != 0 is met: E is 2" || r.lastOf(t, "A") != 14 || st.Last.Time != held {
			t.Errorf("enabled again: %v %q %q, last %v at %d", st.State, st.Cause, st.EnabledBy, r.lastOf(t, "A"), st.Last.Time)
		}
		if n := st.Stored + st.Dropped[sample.ConditionUnmet]; n != st.Received || n != 6 {
			t.Errorf("received %d: stored %d, dropped %v", st.Received, st.Stored, st.Dropped)
		}
		if got := r.source.takeCalls(); got != "+E +A" {
			t.Errorf("the subscriptions changed: %s", got)
		}
	})
}

// TestAnUnknownConditionLosesNothing checks that channels are captured while the PV that enables them is not
// connected, undefined or cannot be compared.
func TestAnUnknownConditionLosesNothing(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(enabledBy("== 'Open'"), "A")})
		a, e := r.connect("A", sample.Float64), r.connect("E", sample.Enum)
		state := func(when string, want State, text string) {
			t.Helper()
			testclock.Advance(2 * keepOpen)
			if st := r.status(t, "A"); st.State != want || !strings.Contains(st.EnabledBy, text) {
				t.Errorf("%s: %v, %q", when, st.State, st.EnabledBy)
			}
		}
		a.Sample(r.float(1))
		e.Sample(&sample.Sample{Word: 0})
		state("no labels", Connected, "it is not known")
		e.Metadata(&sample.Metadata{Labels: []string{"Closed", "Open"}})
		state("closed", Disabled, `E is 0 (Closed)`)
		e.Disconnected(errors.New("ioc:5064 is gone"))
		state("gone", Connected, "E is not connected (ioc:5064 is gone)")
		if n := r.Totals().UnknownConditions; n != 1 {
			t.Errorf("%d conditions are unknown", n)
		}
		e.Connected(ChannelInfo{Type: sample.Enum, Host: "ioc:5064"})
		state("back without a value", Connected, "E has no value")
		e.Sample(&sample.Sample{Word: 0})
		state("closed again", Disabled, "E is 0 (Closed)")
		e.Sample(&sample.Sample{Word: 0, Tag: sample.MakeTag(sample.Invalid, 17)})
		state("undefined", Connected, "it is not known")
		e.Connected(ChannelInfo{Type: sample.Float64, Host: "ioc:5064"})
		e.Sample(r.float(0))
		state("another type", Connected, "it is not known")
		e.Connected(ChannelInfo{Type: sample.String, Host: "ioc:5064"})
		e.Sample(&sample.Sample{Bytes: []byte("Shut")})
		state("a text", Disabled, `E is "Shut"`)
	})
}

// TestADisabledChannelThatIsNotConnected checks that connections of a disabled channel are not marked, and that the
// mark after it says the truth.
func TestADisabledChannelThatIsNotConnected(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(enabledBy("!= 0"), "A", "B", "C")})
		r.connect("E", sample.Float64).Sample(r.float(0))
		testclock.Advance(time.Second)
		r.wantMarks(t, "disabled", "A disabled", "B disabled", "C disabled")
		a := r.connect("A", sample.Float64)
		a.Sample(r.float(1))
		c := r.connect("C", sample.Float64)
		c.Sample(r.float(1))
		testclock.Advance(time.Minute)
		c.Disconnected(errors.New("lost"))
		testclock.Advance(time.Minute)
		r.wantMarks(t, "while disabled")
		if st := r.status(t, "B"); st.State != Disabled || !strings.Contains(st.Cause, "besides, the channel is not connected: no server has answered") {
			t.Errorf("B is %v: %q", st.State, st.Cause)
		}
		r.source.sink("E").Sample(r.float(1))
		testclock.Advance(time.Second)
		r.wantMarks(t, "enabled", "A connected", "B searching", "C disconnected")
		if r.lastOf(t, "A") != 1 || r.status(t, "C").HasLast || r.status(t, "C").Dropped[sample.ConditionUnmet] != 1 {
			t.Errorf("A has %v; C has a value: %v", r.lastOf(t, "A"), r.status(t, "C").HasLast)
		}
		testclock.Advance(time.Minute)
		r.connect("B", sample.Float64)
		r.connect("C", sample.Float64)
		r.wantMarks(t, "connected", "B connected", "C connected")
	})
}

// TestAConditionThatChangesAllTheTime checks that the marks of a channel are bounded, and that no moment at which the
// condition is met is missed.
func TestAConditionThatChangesAllTheTime(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(enabledBy("> 0.5"), "A")})
		a, e := r.connect("A", sample.Float64), r.connect("E", sample.Float64)
		for i := range 600 { // a minute
			e.Sample(r.float(float64(i % 2)))
			a.Sample(r.float(float64(i)))
			testclock.Advance(100 * time.Millisecond)
		}
		if n := len(r.marks.kinds()); n > 2*6+2 {
			t.Errorf("%d marks in a minute", n)
		}
		e.Sample(r.float(0))
		testclock.Advance(2 * keepOpen)
		if st := r.status(t, "A"); st.State != Disabled {
			t.Fatalf("A is %v", st.State)
		}
		e.Sample(r.float(1)) // for no time at all
		e.Sample(r.float(0))
		testclock.Advance(time.Second)
		if st := r.status(t, "A"); st.State != Connected || !strings.Contains(st.EnabledBy, "E > 0.5 was met less than 10s ago: E is 0") {
			t.Errorf("after a short pulse, A is %v: %q", st.State, st.EnabledBy)
		}
		testclock.Advance(2 * keepOpen)
		if st := r.status(t, "A"); st.State != Disabled {
			t.Errorf("long after the pulse, A is %v", st.State)
		}
	})
}

// TestConditionsAreShared checks that an engine subscribes once to a PV that enables many channels, for as long as
// it is needed, and follows changes of the settings.
func TestConditionsAreShared(t *testing.T) {
	inManager(t, func(r *rig) {
		paused := enabledBy("!= 0")
		paused.Paused = true
		apply := func(set Settings) { r.Apply(Assignment{0: groupOf(set, "A", "B"), 1: groupOf(enabledBy("> 5"), "C")}) }
		apply(enabledBy("!= 0"))
		if got := r.source.takeCalls(); got != "+E +A +B +C" {
			t.Fatalf("subscriptions: %s", got)
		}
		states := func(when string, want ...State) {
			t.Helper()
			testclock.Advance(time.Second)
			for i, pv := range []string{"A", "B", "C"} {
				if st := r.status(t, pv); st.State != want[i] {
					t.Errorf("%s: %s is %v, want %v", when, pv, st.State, want[i])
				}
			}
		}
		for _, pv := range []string{"A", "B", "C"} {
			r.connect(pv, sample.Float64).Sample(r.float(1))
		}
		r.connect("E", sample.Float64).Sample(r.float(0))
		states("0", Disabled, Disabled, Disabled)
		r.wantMarks(t, "0", "A connected", "A disabled", "B connected", "B disabled", "C connected", "C disabled")
		apply(enabledBy("== 0"))
		states("another condition, which is met", Connected, Connected, Disabled)
		apply(paused)
		states("paused", Paused, Paused, Disabled)
		apply(enabledBy("!= 0"))
		states("resumed, with a condition that is not met", Disabled, Disabled, Disabled)
		r.source.takeCalls()
		for _, pv := range []string{"A", "B"} {
			r.connect(pv, sample.Float64).Sample(r.float(2))
		}
		apply(Settings{})
		states("no condition", Connected, Connected, Disabled)
		if got := r.lastOf(t, "A"); got != 2 {
			t.Errorf("without a condition, the last value is %v", got)
		}
		r.Apply(Assignment{0: groupOf(Settings{}, "A", "B")})
		if got := r.source.takeCalls(); got != "-C -E" {
			t.Errorf("subscriptions: %s", got)
		}
	})
}

// TestAMoveOfADisabledChannel checks that a channel stays disabled when its shard changes, and that its sample that
// waits for a scan time is kept when it is disabled.
func TestAMoveOfADisabledChannel(t *testing.T) {
	inManager(t, func(r *rig) {
		set := enabledBy("!= 0")
		set.Mode, set.Period = Scan, time.Minute
		r.Apply(Assignment{0: groupOf(set, "A")})
		a, e := r.connect("A", sample.Float64), r.connect("E", sample.Float64)
		a.Sample(r.float(1))
		e.Sample(r.float(0))
		testclock.Advance(2 * time.Second)
		if st := r.status(t, "A"); st.Stored != 1 {
			t.Errorf("stored %d when the channel is disabled", st.Stored)
		}
		a.Sample(r.float(2))
		r.Apply(Assignment{1: groupOf(set, "A")})
		a.Sample(r.float(3))
		e.Sample(r.float(1))
		testclock.Advance(2 * time.Minute)
		if st := r.status(t, "A"); st.Stored != 2 || r.lastOf(t, "A") != 3 || st.Dropped[sample.ConditionUnmet] != 1 {
			t.Errorf("stored %d, the last one %v; dropped %v", st.Stored, r.lastOf(t, "A"), st.Dropped)
		}
		r.wantMarks(t, "all", "A connected", "A disabled", "A connected")
	})
}

// TestChecksOfADisabledChannel checks that a check compares with the latest update of a disabled channel, and not with
// the last stored value.
func TestChecksOfADisabledChannel(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(enabledBy("!= 0"), "A")})
		a, e := r.connect("A", sample.Float64), r.connect("E", sample.Float64)
		a.Sample(r.float(1))
		e.Sample(r.float(0))
		testclock.Advance(time.Second)
		a.Sample(r.float(2))
		testclock.Advance(time.Hour)
		if a.Checked(r.float(2), time.Now()) {
			t.Error("the value of the latest update counts as another one")
		}
		if !a.Checked(r.float(3), time.Now()) {
			t.Error("another value does not differ")
		}
		if e.Checked(r.float(0), time.Now()) || !e.Checked(r.float(1), time.Now()) {
			t.Error("the check of the enabling PV is wrong")
		}
		testclock.Advance(time.Second)
		if r.lastOf(t, "A") != 3 {
			t.Errorf("the last value is %v", r.lastOf(t, "A"))
		}
		r.wantMarks(t, "all", "A connected", "A disabled", "A connected")
	})
}
