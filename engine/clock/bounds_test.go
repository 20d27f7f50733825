package clock

import (
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// TestBounds checks the bounds of the time for marks.
func TestBounds(t *testing.T) {
	const s = time.Second
	says := func(k Kind, offset, within time.Duration) Opinion {
		return Opinion{Kind: k, Offset: offset, Within: within, Sources: 3}
	}
	for name, c := range map[string]struct {
		says       []Opinion
		begin, end time.Duration
	}{
		"no evidence":                             {nil, 0, 0},
		"the store agrees exactly":                {[]Opinion{says(Servers, 0, 0)}, 0, 0},
		"the store agrees":                        {[]Opinion{says(Servers, s, s/2)}, 0, 3 * s / 2},
		"within the limit, but 7 s behind":        {[]Opinion{says(Servers, 7*s, s)}, 0, 8 * s},
		"within the limit, but 7 s ahead":         {[]Opinion{says(Servers, -7*s, s)}, -8 * s, 0},
		"27 s ahead":                              {[]Opinion{says(Servers, -27*s, s)}, -28 * s, -26 * s},
		"IOCs that agree say nothing":             {[]Opinion{says(Servers, 0, 0), says(IOCs, -s/2, s)}, 0, 0},
		"IOCs that disagree a little":             {[]Opinion{says(Servers, 0, 0), says(IOCs, -5*s, s)}, -6 * s, 0},
		"IOCs disagree a little about 27 s":       {[]Opinion{says(Servers, -27*s, 0), says(IOCs, -30*s, s)}, -31 * s, -27 * s},
		"engines do not count beside the store":   {[]Opinion{says(Servers, 0, 0), says(Peers, 8*s, s)}, 0, 0},
		"engines alone":                           {[]Opinion{says(Peers, 8*s, s)}, 0, 9 * s},
		"engines alone are not exact":             {[]Opinion{says(Peers, s, 3*s)}, 0, 0},
		"a step that nothing explains":            {[]Opinion{says(Earlier, 35*s, 0)}, 0, 35 * s},
		"a step by a year that nothing explains":  {[]Opinion{says(Earlier, -365*day, 0)}, -Widest, 0},
		"the store confirms the clock's own past": {[]Opinion{says(Servers, 35*s, s), says(Earlier, 35*s, 0)}, 34 * s, 36 * s},
		"a wrong store":                           {[]Opinion{says(Servers, slow, 0), says(IOCs, 0, s)}, 0, 0},
	} {
		if v := Judge(c.says, limit, Unknown); v.Begin != c.begin || v.End != c.end {
			t.Errorf("%s: the clock is %v, and the time from %v to %v after it, want from %v to %v", name, v.Judgement, v.Begin, v.End, c.begin, c.end)
		}
	}
}

// TestAMomentBeforeAStep checks that the instant of an earlier moment does not depend on steps of the clock since.
func TestAMomentBeforeAStep(t *testing.T) {
	for _, step := range []time.Duration{-slow, -7 * time.Second, -time.Second / 2, 0, 7 * time.Second, slow} {
		m := newMachine()
		c := New(m.config())
		m.noteServers(c, 0, time.Millisecond, -time.Millisecond)
		before := m.wall
		m.pass(time.Minute)
		m.wall += int64(step)
		at := c.Now().Ago(time.Minute)
		if slack := int64(10 * time.Second); at.Begin > before || at.Begin < before-slack || at.End < before || at.End > before+slack {
			t.Errorf("a step of %v: the moment was between %v and %v after the right time", step, time.Duration(at.Begin-before), time.Duration(at.End-before))
		}
	}
}

// TestMoment checks the instant of a moment that time.Now returned, in the bubble's time.
func TestMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{})
		moment := time.Now()
		time.Sleep(time.Minute)
		if at, want := Moment(c.Now, moment), moment.UnixNano(); at.Now != want || at.Begin != want || at.End != want || at.Monotonic != 0 {
			t.Errorf("%+v, want %d", at, want)
		}
	})
}

// TestAMomentOnAClockThatWasSet checks moments after which the clock was set. The instant must not move with a step
// back. A step ahead may be a time in which the machine was suspended, so Begin is earlier.
func TestAMomentOnAClockThatWasSet(t *testing.T) {
	const now = 1_700_000_000e9
	at := func() Instant { return At(now) }
	for _, step := range []time.Duration{-32 * time.Second, 32 * time.Second} {
		moment := time.Now()
		least := int64(time.Since(moment))
		m := Moment(at, shown(moment, -step))
		most := int64(time.Since(moment))
		if m.End > now-least || m.End < now-most || m.Begin > now-least || step < 0 && m.Begin < now-most || step > 0 && m.Begin > now-int64(step)/2 {
			t.Errorf("a step of %v: from %v to %v, want %v to %v ago", step, time.Duration(now-m.Begin), time.Duration(now-m.End), time.Duration(least), time.Duration(most))
		}
	}
}

// shown returns a reading of time.Now as it would be on a clock that is ahead by some seconds: with the same
// monotonic reading. Package time cannot make one.
func shown(t time.Time, ahead time.Duration) time.Time {
	wall := (*uint64)(unsafe.Pointer(&t)) // bits 30 to 62: seconds since 1885
	*wall += uint64(ahead/time.Second) << 30
	return t
}

// TestEpoch checks that the epoch does not depend on the clock once evidence about it is known.
func TestEpoch(t *testing.T) {
	m := newMachine()
	c := New(m.config())
	right, _ := c.Epoch()
	m.wall += int64(slow)
	if _, known := c.Epoch(); known {
		t.Error("the epoch is known without evidence")
	}
	m.noteServers(c, -slow, -slow, -slow)
	m.suspend(time.Hour)
	if at, known := c.Epoch(); !known || time.Duration(at-right).Abs() > time.Second {
		t.Errorf("the epoch is off by %v, known %v", time.Duration(at-right), known)
	}
}
