package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/testclock"
)

// skewed is a clock that a test sets.
type skewed struct{ by atomic.Int64 }

func (s *skewed) clock() *clock.Clock {
	began := time.Now()
	return clock.New(clock.Config{Read: func() (int64, time.Duration) {
		return time.Now().UnixNano() + s.by.Load(), time.Since(began)
	}})
}

// timed is a store with three servers whose clocks are right. They do not tell their time while
// silent is set, which may be nil.
type timed struct {
	store.Store
	silent *atomic.Bool
}

func (t timed) Clocks(_ context.Context, boot func() time.Duration) (all []clock.Reading, err error) {
	if t.silent != nil && t.silent.Load() {
		return nil, errors.New("no server answers")
	}
	for i := range 3 {
		all = append(all, clock.Reading{Source: fmt.Sprint(i), Time: time.Now().UnixNano(), At: boot(), Within: time.Millisecond})
	}
	return all, nil
}

func (timed) Now() int64 { return time.Now().UnixNano() }

// servers is a source with an IOC for each PV. The clocks of the IOCs are right.
type servers struct{ taps }

func (s *servers) Subscribe(pv string, o capture.SubscribeOptions, sink capture.Sink) capture.Subscription {
	sub := s.taps.Subscribe(pv, o, sink)
	sink.Connected(capture.ChannelInfo{Type: sample.Float64, TypeName: "DBR_DOUBLE", Count: 1, Host: pv})
	return sub
}

// send sends a sample of each PV with the present time, which it returns.
func (s *servers) send(n uint64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().UnixNano()
	for _, sinks := range s.sinks {
		for _, sink := range sinks {
			sink.Sample(&sample.Sample{Time: now, Word: n})
		}
	}
	return now
}

var iocPVs = []string{"A", "B", "C", "D"}

// pair is two engines that capture the same PVs of four IOCs. The clock of the second one is wrong.
type pair struct {
	t     *testing.T
	store store.Store
	skew  skewed
	iocs  servers
	fleet []*Engine
	sent  []int64
}

// inPair runs f with a pair of engines in a synctest bubble.
func inPair(t *testing.T, skew time.Duration, wrap func(store.Store) store.Store, f func(p *pair)) {
	synctest.Test(t, func(t *testing.T) {
		db, err := pebble.OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		p := &pair{t: t, store: wrap(db)}
		p.skew.by.Store(int64(skew))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan int)
		for i, clk := range []*clock.Clock{nil, p.skew.clock()} {
			e := New(Options{
				Store: p.store, Sources: capture.Sources{&p.iocs}, Shards: 4, Checkpoint: 15 * time.Minute, Clock: clk,
				Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
			})
			p.fleet = append(p.fleet, e)
			go func() { done <- e.Run(ctx) }()
			s := Shard{Seal: i == 0}
			for _, pv := range iocPVs {
				s.Channels = append(s.Channels, capture.Channel{PV: pv, Group: "lab/test", Settings: &capture.Settings{
					Ahead: 5 * time.Minute, Behind: 5 * time.Minute,
				}})
			}
			e.Apply(Assignment{0: s})
		}
		defer func() {
			cancel()
			for range p.fleet {
				if n := <-done; n != 0 {
					t.Errorf("%d samples unsaved", n)
				}
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		f(p)
	})
}

// run sends a sample each second, for some time.
func (p *pair) run(seconds int) {
	for range seconds {
		p.sent = append(p.sent, p.iocs.send(uint64(len(p.sent))))
		testclock.Advance(time.Second)
	}
}

// seal waits until everything is sealed.
func (p *pair) seal() { testclock.Advance(20 * time.Minute) }

// times returns the times of the stored samples of a PV.
func (p *pair) times(pv string) (times []int64) {
	p.t.Helper()
	r := &query.Reader{Store: p.store, Shards: 4}
	now := time.Now()
	read, err := r.Read(p.t.Context(), pv, now.Add(-48*time.Hour).UnixNano(), now.Add(48*time.Hour).UnixNano(), query.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	for run, err := range read.All {
		if err != nil {
			p.t.Fatal(err)
		}
		times = append(times, run.Times...)
	}
	return times
}

// TestASlowEngineKeepsTheTimesOfIOCs checks that an engine whose clock is wrong stores the samples
// of right IOCs under their own times, so that both engines of a redundant PV store the same
// samples. It says that its clock is wrong, and the other engine does not.
func TestASlowEngineKeepsTheTimesOfIOCs(t *testing.T) {
	for _, skew := range []time.Duration{-6 * time.Minute, 6 * time.Minute, -400 * 24 * time.Hour} {
		inPair(t, skew, func(st store.Store) store.Store { return timed{Store: st} }, func(p *pair) {
			p.run(60)
			p.seal()
			for _, pv := range iocPVs {
				if got := p.times(pv); !slices.Equal(got, p.sent) {
					p.t.Fatalf("a clock that is off by %v: %d samples of %s are stored, want the %d that were sent", skew, len(got), pv, len(p.sent))
				}
			}
			if v := p.fleet[1].Clock(); v.Judgement != clock.Wrong || (v.Offset+skew).Abs() > time.Second {
				p.t.Errorf("a clock that is off by %v is %v: %s", skew, v.Judgement, v.Because)
			}
			if v := p.fleet[0].Clock(); v.Judgement != clock.Right {
				p.t.Errorf("the right clock is %v: %s", v.Judgement, v.Because)
			}
		})
	}
}

// TestStepsOfAClockChangeNoTimes sets the clock of an engine several times while samples arrive.
func TestStepsOfAClockChangeNoTimes(t *testing.T) {
	inPair(t, 0, func(st store.Store) store.Store { return timed{Store: st} }, func(p *pair) {
		for _, skew := range []time.Duration{-6 * time.Minute, 0, 7 * time.Minute, -time.Hour, 0} {
			p.run(7)
			p.skew.by.Store(int64(skew))
		}
		p.run(7)
		p.seal()
		if got := p.times("A"); !slices.Equal(got, p.sent) {
			p.t.Errorf("%d samples are stored, want the %d that were sent", len(got), len(p.sent))
		}
		if v := p.fleet[1].Clock(); v.Judgement != clock.Right {
			p.t.Errorf("the corrected clock is %v: %s", v.Judgement, v.Because)
		}
	})
}

// TestIOCsAndEnginesAreEvidence checks a store whose servers have no clocks. Most IOCs, or the
// clock before a step together with the claims of the other engine, are enough.
func TestIOCsAndEnginesAreEvidence(t *testing.T) {
	inPair(t, -6*time.Minute, func(st store.Store) store.Store { return st }, func(p *pair) {
		p.run(30)
		p.sent = nil
		if v := p.fleet[1].Clock(); v.Judgement != clock.Wrong {
			p.t.Fatalf("after half a minute the clock is %v: %s", v.Judgement, v.Because)
		}
		if v := p.fleet[0].Clock(); v.Judgement != clock.Right {
			p.t.Errorf("the right clock is %v: %s", v.Judgement, v.Because)
		}
		p.run(30)
		p.seal()
		times := p.times("A")
		for _, sent := range p.sent {
			if n := len(slices.DeleteFunc(slices.Clone(times), func(at int64) bool { return at != sent })); n != 1 {
				p.t.Fatalf("%d samples at %v, want 1", n, time.Unix(0, sent))
			}
		}
	})
	inPair(t, 0, func(st store.Store) store.Store { return st }, func(p *pair) {
		testclock.Advance(time.Minute) // the IOCs send nothing
		p.skew.by.Store(int64(-6 * time.Minute))
		testclock.Advance(time.Minute)
		if v := p.fleet[1].Clock(); v.Judgement != clock.Wrong {
			p.t.Errorf("after a step the clock is %v: %s", v.Judgement, v.Because)
		}
	})
}

// TestAClockAheadExpiresNothing checks that an engine whose clock is ahead by more than the
// retention seals the samples that the true time keeps, and deletes none. At first the store does
// not tell its time.
func TestAClockAheadExpiresNothing(t *testing.T) { runAhead(t, false) }

// TestLong_AClockAheadExpiresInTime also waits until the retention has ended by the true time.
func TestLong_AClockAheadExpiresInTime(t *testing.T) { runAhead(t, true) }

func runAhead(t *testing.T, untilExpired bool) {
	const keep = store.Keep1d
	synctest.Test(t, func(t *testing.T) {
		db, err := pebble.OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		var skew skewed
		skew.by.Store(int64(2 * keep.Keep()))
		e := &era{t: t, st: &claimOnceStore{Store: db, written: map[store.WriterID]store.Claim{}}, clock: skew.clock(), silent: new(atomic.Bool)}
		e.silent.Store(true)
		e.begin(store.Retention{Raw: keep})
		defer func() {
			e.end()
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		e.send(time.Now(), 1)
		testclock.Advance(20 * time.Minute)
		e.silent.Store(false)
		e.send(time.Now(), 2)
		testclock.Advance(3 * time.Hour) // sealed, and expired samples are deleted
		e.want(4*time.Hour, "1@3h0m0s 2@3h0m0s ", "with a clock that is two days ahead")
		if s, _ := e.Capture().Status("A"); s.Dropped[sample.Expired] != 0 {
			t.Errorf("%d samples expired", s.Dropped[sample.Expired])
		}
		if !untilExpired {
			return
		}
		testclock.Advance(keep.Keep() + 26*time.Hour)
		if got := e.read(keep.Keep() + 48*time.Hour); strings.Contains(got, "1@") {
			t.Errorf("after the retention has ended there is %q", got)
		}
	})
}

// TestAPauseOfTheMachineCountsForClaims pauses the machine of an engine just after a claim was written. Go's monotonic clock
// does not see the pause. Others may have taken the engine for dead meanwhile, so it must write its claim again at once.
func TestAPauseOfTheMachineCountsForClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := pebble.OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var paused atomic.Int64
		var iocs servers
		e := New(Options{
			Store: db, Sources: capture.Sources{&iocs}, Shards: 4, Checkpoint: 15 * time.Minute,
			Clock:      clock.New(clock.Config{Boot: func() time.Duration { return time.Since(began) + time.Duration(paused.Load()) }}),
			Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan int)
		go func() { done <- e.Run(ctx) }()
		defer func() {
			cancel()
			<-done
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		e.Apply(one(0, true, "A"))
		alive := func() int64 {
			claims, err := db.Claims(t.Context(), 0)
			if err != nil || len(claims) != 1 {
				t.Fatalf("%d claims: %v", len(claims), err)
			}
			return claims[0].Alive
		}
		testclock.Advance(10 * time.Second)
		for last := alive(); alive() == last; {
			testclock.Advance(100 * time.Millisecond)
		}
		paused.Store(int64(time.Minute))
		resumed := time.Now().UnixNano()
		iocs.send(1)
		testclock.Advance(2 * time.Second)
		if at := alive(); at <= resumed {
			t.Errorf("2 s after a pause, the claim is as old as before: %v", time.Unix(0, resumed).Sub(time.Unix(0, at)))
		}
	})
}
