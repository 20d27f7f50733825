package engine

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/testclock"
)

// site is a PV of an IOC whose clock is right, and a store whose servers have right clocks. Engines whose
// clocks are wrong capture the PV, one after the other, so its redundancy is 1.
type site struct {
	t      *testing.T
	db     store.Store
	silent atomic.Bool // the servers of the store do not tell their time
	iocs   servers
	sent   []int64
}

// worker is an engine of a site, with a clock of its own.
type worker struct {
	*Engine
	skew  skewed
	store *mortal
	end   func()
}

func atSite(t *testing.T, f func(s *site)) {
	synctest.Test(t, func(t *testing.T) {
		db, err := pebble.OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		s := &site{t: t, db: db}
		f(s)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

// start starts an engine whose clock is off by some time.
func (s *site) start(skew time.Duration) *worker {
	w := &worker{store: &mortal{Store: s.db}}
	w.skew.by.Store(int64(skew))
	w.Engine = New(Options{
		Store: timed{Store: w.store, silent: &s.silent}, Sources: capture.Sources{&s.iocs}, Shards: 1, Checkpoint: time.Minute,
		Grace: 200 * time.Millisecond, Clock: w.skew.clock(), Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan struct{})
	go func() { w.Run(ctx); close(done) }()
	w.end = sync.OnceFunc(func() { cancel(); <-done })
	w.Apply(Assignment{0: {Seal: true, Channels: []capture.Channel{{PV: "MT:A", Group: "lab/test", Settings: &capture.Settings{}}}}})
	return w
}

// kill ends the engine like kill -9.
func (w *worker) kill() {
	w.store.dead.Store(true)
	w.end()
}

// send sends a sample with the right time every 100 ms.
func (s *site) send(d time.Duration) {
	for range d / (100 * time.Millisecond) {
		now := s.iocs.send(uint64(len(s.sent)))
		s.sent = append(s.sent, now)
		testclock.Advance(100 * time.Millisecond)
	}
}

// missing returns the times of the samples that were sent and are not in the archive.
func (s *site) missing() (lost []int64) {
	s.t.Helper()
	r := &query.Reader{Store: s.db, Shards: 1}
	read, err := r.Read(s.t.Context(), "MT:A", s.sent[0]-1e9, s.sent[len(s.sent)-1]+1e9, query.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	has := map[int64]bool{}
	for run, err := range read.All {
		if err != nil {
			s.t.Fatal(err)
		}
		for _, at := range run.Times {
			has[at] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(s.sent), func(at int64) bool { return has[at] })
}

// marks returns all marks of the PV.
func (s *site) marks() (all []sample.Mark) {
	s.t.Helper()
	for m, err := range s.db.Marks(s.t.Context(), "MT:A", math.MinInt64, math.MaxInt64) {
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, m.Mark)
	}
	return all
}

// wantMarked checks that each missing sample is in a mark of a kind, or between marks of a kind and of the next
// connection. No mark may begin or end further than by some time from the missing samples.
func (s *site) wantMarked(what string, kind sample.MarkKind, by time.Duration) {
	s.t.Helper()
	lost, all := s.missing(), s.marks()
	if len(lost) == 0 {
		s.t.Fatalf("%s: no sample is missing", what)
	}
	found := false
	for i, m := range all {
		if m.Kind != kind {
			continue
		}
		if m.End == 0 {
			next := slices.IndexFunc(all[i:], func(n sample.Mark) bool { return n.Kind == sample.Connected })
			if next < 0 {
				continue
			}
			m.End = all[i+next].Time
		}
		found = found || m.Time <= lost[0] && m.End >= lost[len(lost)-1]
		if before, after := time.Duration(lost[0]-m.Time), time.Duration(m.End-lost[len(lost)-1]); before > by || after > by {
			s.t.Errorf("%s: the mark begins %v before the missing samples, and ends %v after them", what, before, after)
		}
	}
	if !found {
		s.t.Errorf("%s: %d samples from %v to %v are missing, and not in a mark: %s", what, len(lost),
			time.Unix(0, lost[0]).UTC(), time.Unix(0, lost[len(lost)-1]).UTC(), show(all))
	}
}

func show(all []sample.Mark) (text string) {
	for _, m := range all {
		text += fmt.Sprintf("\n%v from %v to %v", m.Kind, time.Unix(0, m.Time).UTC(), time.Unix(0, m.End).UTC())
	}
	return text
}

// TestADeathIsMarkedInTheTimeOfSamples kills an engine, and starts another one that captures the PV some time
// later. The clocks of both are wrong, by less and by more than what counts as wrong. The mark of the death must
// cover all samples in between, which have the right time of their IOC.
func TestADeathIsMarkedInTheTimeOfSamples(t *testing.T) {
	const s = time.Second
	for _, c := range []struct{ first, second, pause time.Duration }{
		{0, 0, 20 * s}, {-35 * s, -35 * s, 20 * s}, {27 * s, 27 * s, 20 * s}, {-40 * s, 40 * s, 20 * s}, {40 * s, -40 * s, 20 * s},
		{7 * s, 7 * s, 20 * s}, {-9 * s, -9 * s, 20 * s}, {0, -7 * s, s}, {0, -7 * s, 3 * s}, {0, -9 * s, 4 * s}, {-9 * s, 9 * s, 2 * s},
		{-time.Hour, time.Hour, 20 * s},
	} {
		atSite(t, func(site *site) {
			w := site.start(c.first)
			site.send(12 * time.Second)
			for _, claim := range claims(t, site.db, 0) {
				if claim.Saved > time.Now().UnixNano() {
					t.Errorf("a clock that is off by %v: all samples of the next %v are saved", c.first, time.Duration(claim.Saved-time.Now().UnixNano()))
				}
			}
			w.kill()
			site.send(c.pause)
			w = site.start(c.second)
			site.send(time.Minute)
			w.end()
			site.wantMarked(fmt.Sprintf("clocks that are off by %v and %v", c.first, c.second), sample.Died, 40*time.Second)
		})
	}
}

// TestALossOfTheIOCIsMarkedInTheTimeOfSamples disconnects the IOC for some time, while the clock of the engine is
// wrong, or set.
func TestALossOfTheIOCIsMarkedInTheTimeOfSamples(t *testing.T) {
	const s = time.Second
	for _, c := range []struct{ before, after time.Duration }{
		{-35 * s, -35 * s}, {27 * s, 27 * s}, {7 * s, 7 * s}, {-9 * s, -9 * s}, {0, -32 * s}, {-32 * s, 0}, {40 * s, -40 * s}, {0, 8 * s},
	} {
		atSite(t, func(site *site) {
			w := site.start(c.before)
			site.send(10 * time.Second)
			site.cut(func() {
				site.send(10 * time.Second)
				w.skew.by.Store(int64(c.after))
				site.send(10 * time.Second)
			})
			site.send(10 * time.Second)
			w.end()
			site.wantMarked(fmt.Sprintf("a clock that is off by %v, and then by %v", c.before, c.after), sample.Disconnected, 12*time.Second)
		})
	}
}

// cut cuts the IOC off from the engine during f.
func (s *site) cut(f func()) {
	s.iocs.mu.Lock()
	sinks := s.iocs.sinks["MT:A"]
	s.iocs.sinks["MT:A"] = nil
	s.iocs.mu.Unlock()
	for _, sink := range sinks {
		sink.Disconnected(nil)
	}
	f()
	s.iocs.mu.Lock()
	defer s.iocs.mu.Unlock()
	s.iocs.sinks["MT:A"] = sinks
	for _, sink := range sinks {
		sink.Connected(capture.ChannelInfo{Type: sample.Float64, TypeName: "DBR_DOUBLE", Count: 1, Host: "ioc:5064"})
	}
}

// TestAnEngineThatStartsWithoutTheStoreCorrectsItsMarks disconnects the IOC before the servers of the store have
// told their time for the first time. The marks wait until they have.
func TestAnEngineThatStartsWithoutTheStoreCorrectsItsMarks(t *testing.T) {
	for _, skew := range []time.Duration{-35 * time.Second, 27 * time.Second} {
		atSite(t, func(site *site) {
			site.silent.Store(true)
			down := &downMarks{}
			down.is.Store(true)
			w := site.startBehind(skew, down)
			site.send(5 * time.Second)
			site.cut(func() { site.send(10 * time.Second) })
			site.send(5 * time.Second)
			site.silent.Store(false)
			down.is.Store(false)
			site.send(30 * time.Second)
			w.end()
			site.wantMarked(fmt.Sprintf("a clock that is off by %v", skew), sample.Disconnected, 2*time.Second)
		})
	}
}

// TestALossSoonAfterTheClockIsKnown disconnects the IOC just after the servers of the store have told their time
// for the first time. The clock was ahead until then, and the mark of the connection was corrected. The mark of the
// loss must not be in the time of that clock.
func TestALossSoonAfterTheClockIsKnown(t *testing.T) {
	for _, skew := range []time.Duration{7 * time.Second, 27 * time.Second, 5 * time.Minute} {
		atSite(t, func(site *site) {
			site.silent.Store(true)
			down := &downMarks{}
			down.is.Store(true)
			w := site.startBehind(skew, down)
			site.send(5 * time.Second)
			site.silent.Store(false)
			down.is.Store(false)
			site.send(3 * time.Second)
			site.cut(func() { site.send(10 * time.Second) })
			site.send(30 * time.Second)
			w.end()
			site.wantMarked(fmt.Sprintf("a clock that is off by %v", skew), sample.Disconnected, 12*time.Second)
		})
	}
}

// downMarks refuses marks while the store is away.
type downMarks struct {
	store.Store
	is atomic.Bool
}

// PutMarks implements store.Store.
func (d *downMarks) PutMarks(ctx context.Context, marks ...store.PVMark) error {
	if d.is.Load() {
		return errDead
	}
	return d.Store.PutMarks(ctx, marks...)
}

// startBehind starts an engine whose store is behind another one.
func (s *site) startBehind(skew time.Duration, d *downMarks) *worker {
	d.Store, s.db = s.db, d
	defer func() { s.db = d.Store }()
	return s.start(skew)
}

// TestAStallIsMarkedAlthoughTheClockIsSet reports a stall during which the clock was set. The mark must begin and
// end when the stall did.
func TestAStallIsMarkedAlthoughTheClockIsSet(t *testing.T) {
	for _, step := range []time.Duration{-32 * time.Second, 32 * time.Second} {
		atSite(t, func(site *site) {
			w := site.start(0)
			site.send(5 * time.Second)
			from := time.Now()
			testclock.Advance(12 * time.Second)
			w.skew.by.Store(int64(step))
			to := time.Now()
			site.iocs.mu.Lock()
			for _, sink := range site.iocs.sinks["MT:A"] {
				sink.Suspect(from, to)
			}
			site.iocs.mu.Unlock()
			testclock.Advance(time.Minute)
			w.end()
			const slack = 10 * time.Millisecond
			found := false
			for _, m := range site.marks() {
				if m.Kind == sample.Lost {
					found = m.Time <= from.UnixNano() && m.Time >= from.Add(-slack).UnixNano() && m.End >= to.UnixNano() && m.End <= to.Add(slack).UnixNano()
				}
			}
			if !found {
				t.Errorf("a step of %v: no mark from %v to %v: %s", step, from.UTC(), to.UTC(), show(site.marks()))
			}
		})
	}
}
