package clock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// machine is a machine whose clocks a test sets.
type machine struct {
	wall      int64
	monotonic time.Duration
	boot      time.Duration
}

const day = 24 * time.Hour

func newMachine() *machine {
	return &machine{wall: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC).UnixNano(), monotonic: day, boot: 2 * day}
}

func (m *machine) config() Config {
	return Config{
		Read: func() (int64, time.Duration) { return m.wall, m.monotonic },
		Boot: func() time.Duration { return m.boot },
	}
}

func (m *machine) pass(d time.Duration) {
	m.suspend(d)
	m.monotonic += d
}

// suspend pauses the machine: the monotonic clock stands still.
func (m *machine) suspend(d time.Duration) {
	m.wall += int64(d)
	m.boot += d
}

// noteServers adds readings of three servers whose clocks differ from the machine's.
func (m *machine) noteServers(c *Clock, offsets ...time.Duration) {
	var all []Reading
	for i, d := range offsets {
		all = append(all, Reading{Source: fmt.Sprint(i), Time: m.wall + int64(d), At: m.boot, Within: time.Millisecond})
	}
	c.Note(Servers, all...)
	c.Judge()
}

func TestAStepIsSeenAtOnce(t *testing.T) {
	for _, step := range []time.Duration{-slow, slow, -100 * 365 * day} {
		m := newMachine()
		c := New(m.config())
		m.noteServers(c, 0, time.Second, -time.Second)
		m.pass(10 * time.Minute)
		before := c.Now().Now
		m.wall += int64(step)
		if at := c.Now(); time.Duration(at.Now-before).Abs() > time.Second || at.From > before || at.To < before {
			t.Errorf("after a step of %v the time is off by %v", step, time.Duration(at.Now-before))
		}
		if v := c.Verdict(); v.Judgement != Wrong {
			t.Errorf("after a step of %v: %+v", step, v)
		}
		if at := c.Earliest(); at > before {
			t.Errorf("after a step of %v things expire %v early", step, time.Duration(at-before))
		}
		m.wall -= int64(step)
		if v := c.Verdict(); v.Judgement != Right {
			t.Errorf("after the step back: %+v", v)
		}
	}
}

// TestAStepWithoutEvidence checks that a step which nothing explains lets nothing expire early,
// and that the filter allows both times.
func TestAStepWithoutEvidence(t *testing.T) {
	m := newMachine()
	c := New(m.config())
	before := m.wall
	m.wall += int64(365 * day)
	if at := c.Now(); c.Earliest() > before || at.From > before || at.To < m.wall || at.Now != m.wall {
		t.Errorf("earliest %v before the step, %+v", time.Duration(before-c.Earliest()), at)
	}
	if v := c.Verdict(); !v.IsDoubtful() {
		t.Errorf("%+v", v)
	}
	m.noteServers(c, 0, 0, 0) // it was set right
	if v := c.Verdict(); v.Judgement != Right || c.Earliest() < m.wall-int64(time.Second) {
		t.Errorf("a corrected clock is %v: %s", v.Judgement, v.Because)
	}
}

func TestAPauseIsNoStep(t *testing.T) {
	m := newMachine()
	c := New(m.config())
	m.noteServers(c, 0, 0, 0)
	m.suspend(time.Hour)
	if v := c.Verdict(); v.Judgement != Right || c.Now().Now != m.wall {
		t.Errorf("after a pause: %+v", v)
	}
}

func TestASlewIsNoStep(t *testing.T) {
	m := newMachine()
	c := New(m.config())
	for range 1000 {
		m.pass(time.Minute)
		m.wall += int64(30 * time.Millisecond) // 500 ppm
		c.Judge()
	}
	if v := c.Verdict(); v.IsDoubtful() || c.Earliest() < m.wall {
		t.Errorf("a clock that is slewed by 30 s: %+v", v)
	}
}

func TestOneWrongServerDecidesNothing(t *testing.T) {
	m := newMachine()
	c := New(m.config())
	m.noteServers(c, 0, 0, time.Hour)
	if v := c.Verdict(); v.Judgement != Right {
		t.Errorf("%+v", v)
	}
	m.noteServers(c, slow, slow, time.Hour)
	if v := c.Verdict(); v.Judgement != Wrong || v.Offset != slow {
		t.Errorf("%+v", v)
	}
}

// TestIOCs checks the evidence of IOCs: most servers must agree, and servers without a time do not
// count.
func TestIOCs(t *testing.T) {
	m := newMachine()
	c := New(m.config())
	hear := func(offsets ...time.Duration) Judgement {
		var all []Heard
		for i, d := range offsets {
			for j := range 3 { // a record may have a time of its own
				all = append(all, Heard{fmt.Sprint(i), m.wall + int64(d) - int64(j/2)*int64(day), m.monotonic})
			}
		}
		c.NoteSamples(all)
		c.Judge()
		return c.Verdict().Judgement
	}
	if got := hear(slow, slow); got != Unknown {
		t.Errorf("two servers make the clock %v", got)
	}
	if got := hear(slow, slow, slow, 0); got != Wrong {
		t.Errorf("three of four servers make the clock %v", got)
	}
	if got := hear(0, 0, 0, slow); got != Right {
		t.Errorf("the clock is %v although most servers agree with it", got)
	}
	c.NoteSamples([]Heard{{"x", tooOld, m.monotonic}, {"y", math.MinInt64, m.monotonic}, {"z", 1, m.monotonic}})
	c.Judge()
	if v := c.Verdict(); v.Judgement != Right {
		t.Errorf("servers without a time: %+v", v)
	}
	m.pass(forgetAfter + time.Minute)
	if got := hear(); got != Unknown {
		t.Errorf("IOCs that are gone still make the clock %v", got)
	}
}

func TestReadingsAreBounded(t *testing.T) {
	r := readings{}
	var all []Reading
	for i := range 2 * maxSources {
		all = append(all, Reading{Source: fmt.Sprint(i)})
	}
	r.put(0, all...)
	if len(r) != maxSources {
		t.Errorf("%d readings", len(r))
	}
	if since(math.MaxInt64, math.MinInt64) <= 0 || since(math.MinInt64, math.MaxInt64) >= 0 || since(5, 3) != 2 {
		t.Error("differences overflow")
	}
}

// TestRunAsksTheServers checks that the servers are asked each second until they answer, and then each minute, and
// that old answers count while they do not answer.
func TestRunAsksTheServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		var fails atomic.Bool
		fails.Store(true)
		c := New(Config{})
		c.Use(servers(func(boot func() time.Duration) ([]Reading, error) {
			if asked.Add(1); fails.Load() {
				return nil, errors.New("away")
			}
			return []Reading{{Source: "a", Time: time.Now().Add(slow).UnixNano(), At: boot()}}, nil
		}))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		if at := c.Now(); at.Now != time.Now().UnixNano() || at.From >= 0 || c.Answered() || at.To < math.MaxInt64/3 {
			t.Errorf("before the first answer the time is known: %+v", at)
		}
		time.Sleep(40 * time.Second)
		if c.StoreTime() != 42 {
			t.Error("the time of the store is not that of its servers")
		}
		tries := asked.Load()
		if v := c.Verdict(); tries < 39 || tries > 41 || v.Judgement != Unknown {
			t.Errorf("asked %d times: %+v", tries, v)
		}
		fails.Store(false)
		time.Sleep(10 * time.Minute)
		if v := c.Verdict(); asked.Load()-tries < 9 || asked.Load()-tries > 12 || v.Judgement != Wrong {
			t.Errorf("asked %d times: %+v", asked.Load()-tries, v)
		}
		fails.Store(true)
		time.Sleep(10 * time.Hour)
		if v := c.Verdict(); v.Judgement != Wrong || v.Offset != slow {
			t.Errorf("after the store was away for 10 hours: %+v", v)
		}
		cancel()
		<-done
	})
}

// servers is a store with the clocks that a function returns.
type servers func(boot func() time.Duration) ([]Reading, error)

func (s servers) Clocks(_ context.Context, boot func() time.Duration) ([]Reading, error) {
	return s(boot)
}
func (s servers) Now() int64 { return 42 }

func TestBootClockAdvances(t *testing.T) {
	a := SinceBoot()
	if b := SinceBoot(); a <= 0 || b < a {
		t.Errorf("the clock since boot shows %v, then %v", a, b)
	}
}

func BenchmarkNow(b *testing.B) {
	c := New(Config{Boot: SinceBoot})
	for b.Loop() {
		c.Now()
	}
}

// TestAnInexactReadingReplacesNone checks that a slow answer of the store, which says little, does not
// hide that the clock is wrong.
func TestAnInexactReadingReplacesNone(t *testing.T) {
	m := newMachine()
	c := New(m.config())
	m.noteServers(c, -slow, -slow, -slow)
	m.pass(time.Minute)
	c.Note(Servers, Reading{Source: "0", Time: m.wall, At: m.boot, Within: time.Minute},
		Reading{Source: "1", Time: m.wall, At: m.boot, Within: time.Minute}, Reading{Source: "2", Time: m.wall, At: m.boot, Within: time.Minute})
	c.Judge()
	if v := c.Verdict(); v.Judgement != Wrong || c.Earliest() > m.wall-int64(slow)+int64(time.Second) {
		t.Errorf("after inexact readings: %+v", v)
	}
}

// TestAWrongClockStaysWrongWithoutTheStore checks that nothing expires by a wrong clock, although the
// store has not answered for a week.
func TestAWrongClockStaysWrongWithoutTheStore(t *testing.T) {
	m := newMachine()
	c := New(m.config())
	m.noteServers(c, -time.Hour, -time.Hour, -time.Hour)
	m.pass(7 * day)
	c.Judge()
	if v := c.Verdict(); v.Judgement != Wrong || c.Earliest() > m.wall-int64(59*time.Minute)+int64(drift)*7*int64(day)/1_000_000 {
		t.Errorf("after a week: %+v", v)
	}
}
