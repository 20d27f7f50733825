package capture

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// script is a source whose updates the test sends.
type script struct {
	mu    sync.Mutex
	sinks map[string]Sink
	opts  map[string]SubscribeOptions
	calls []string
	wrong string // see Reach.Problem
}

func newScript() *script {
	return &script{sinks: map[string]Sink{}, opts: map[string]SubscribeOptions{}}
}

type scripted struct {
	s  *script
	pv string
}

func (s *script) Subscribe(pv string, opts SubscribeOptions, sink Sink) Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sinks[pv], s.opts[pv] = sink, opts
	s.calls = append(s.calls, "+"+pv)
	return scripted{s, pv}
}

// sink returns the sink of a subscription, or nil.
func (s *script) sink(pv string) Sink {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sinks[pv]
}

func (s *script) Close() error { return nil }

func (s *script) Reach() Reach { return Reach{Asked: "by UDP 10.0.0.1:5064", Problem: s.wrong} }

func (s scripted) Close() {
	s.s.mu.Lock()
	defer s.s.mu.Unlock()
	delete(s.s.sinks, s.pv)
	s.s.calls = append(s.s.calls, "-"+s.pv)
}

func (s *script) takeCalls() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := strings.Join(s.calls, " ")
	s.calls = nil
	return calls
}

// notes records marks, as "PV kind", and metadata.
type notes struct {
	mu    sync.Mutex
	all   []string
	marks []store.PVMark
	last  map[string]sample.Mark
	meta  map[string][]*sample.Metadata
	since map[string]int64 // time of the latest metadata, by PV
}

func (n *notes) Add(pv string, m sample.Mark) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, pv+" "+m.Kind.String())
	n.marks = append(n.marks, store.PVMark{PV: pv, Mark: m})
	if n.last == nil {
		n.last = map[string]sample.Mark{}
	}
	n.last[pv] = m
}

// latest returns the last mark of a PV.
func (n *notes) latest(pv string) sample.Mark {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last[pv]
}

// kinds returns all marks.
func (n *notes) kinds() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

func (n *notes) Metadata(pv string, at int64, m *sample.Metadata) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.meta[pv] = append(n.meta[pv], m)
	n.since[pv] = at
}

// ackStore is a store that acknowledges everything and keeps nothing.
type ackStore struct{}

func (ackStore) Claims(context.Context, int) ([]store.Claim, error) { return nil, nil }
func (ackStore) PutClaim(context.Context, store.Claim) error        { return nil }
func (ackStore) PutJournal(context.Context, store.JournalRow) error { return nil }

// rig is a Manager with scripted sources and a record of its marks.
type rig struct {
	*Manager
	source   *script // of Channel Access
	pva      *script
	marks    *notes
	journals []*journal.ShardJournal
	skew     atomic.Int64 // what the engine's clock shows too much, in ns
	heard    atomic.Pointer[[]clock.Heard]
}

// inManager runs a test of a manager with two shards in fake time.
func inManager(t *testing.T, f func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		mem := journal.NewMemory(1 << 20)
		r := &rig{source: newScript(), pva: newScript(), marks: &notes{meta: map[string][]*sample.Metadata{}, since: map[string]int64{}}}
		ctx, cancel := context.WithCancel(t.Context())
		cfg := &journal.Config{Store: ackStore{}, Flush: time.Second / 2, RowBytes: 4096, Memory: mem,
			Lost: r.marks.Add, Metrics: journal.NewMetrics(prometheus.NewRegistry(), mem), Log: slog.New(slog.DiscardHandler)}
		var wg sync.WaitGroup
		for i := range 2 {
			j := journal.NewShardJournal(i, store.WriterID{byte(i + 1)}, cfg)
			r.journals = append(r.journals, j)
			wg.Go(func() { j.Run(ctx, t.Context()) })
		}
		right := clock.New(clock.Config{})
		now := func() clock.Instant {
			at := right.Now()
			shown := clock.At(at.Now + r.skew.Load())
			shown.Monotonic = at.Monotonic
			return shown
		}
		r.Manager = NewManager(Config{Now: now, Heard: func(all []clock.Heard) { r.heard.Store(&all) }, Sources: Sources{CA: r.source, PVA: r.pva}, ShardJournal: func(s int) *journal.ShardJournal { return r.journals[s] },
			Marks: r.marks, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
		defer func() {
			r.Close()
			cancel()
			wg.Wait()
		}()
		f(r)
	})
}

func (r *rig) connect(pv string, t sample.Type) Sink {
	sink := r.source.sink(pv)
	sink.Connected(ChannelInfo{Type: t, TypeName: t.String(), Count: 1, Host: "ioc:5064"})
	return sink
}

func (r *rig) status(t *testing.T, pv string) Status {
	t.Helper()
	st, ok := r.Status(pv)
	if !ok {
		t.Fatalf("%s has no status", pv)
	}
	return st
}

func groupOf(set Settings, pvs ...string) []Channel {
	var out []Channel
	for _, pv := range pvs {
		out = append(out, Channel{PV: pv, Group: "lab/vacuum", Settings: &set})
	}
	return out
}

func TestApplyChangesOnlyWhatDiffers(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{}, "A", "B"), 1: groupOf(Settings{}, "C")})
		if got := r.source.takeCalls(); got != "+A +B +C" {
			t.Fatalf("subscriptions: %s", got)
		}
		steps := []struct {
			name  string
			a     Assignment
			calls string
		}{
			{"the same again", Assignment{0: groupOf(Settings{}, "A", "B"), 1: groupOf(Settings{}, "C")}, ""},
			{"another deadband", Assignment{0: groupOf(Settings{Absolute: 1}, "A", "B"), 1: groupOf(Settings{}, "C")}, ""},
			{"another shard", Assignment{0: groupOf(Settings{}, "A"), 1: groupOf(Settings{}, "B", "C")}, ""},
			{"other events", Assignment{0: groupOf(Settings{Events: EventValue}, "A"), 1: groupOf(Settings{}, "B", "C")}, "-A +A"},
			{"one more, one less", Assignment{0: groupOf(Settings{Events: EventValue}, "A"), 1: groupOf(Settings{}, "C", "D")}, "+D -B"},
			{"paused", Assignment{0: groupOf(Settings{Events: EventValue, Paused: true}, "A"), 1: groupOf(Settings{}, "C", "D")}, "-A"},
			{"resumed", Assignment{0: groupOf(Settings{Events: EventValue}, "A"), 1: groupOf(Settings{}, "C", "D")}, "+A"},
		}
		for _, st := range steps {
			r.Apply(st.a)
			if got := r.source.takeCalls(); got != st.calls {
				t.Errorf("%s: subscriptions changed by %q, want %q", st.name, got, st.calls)
			}
		}
		if want := []string{"A paused", "A resumed"}; !slices.Equal(r.marks.kinds(), want) {
			t.Errorf("marks %v, want %v", r.marks.kinds(), want)
		}
	})
}

// TestAPauseHasAReason checks the marks and the causes of pauses with reasons, also when the reason changes.
func TestAPauseHasAReason(t *testing.T) {
	inManager(t, func(r *rig) {
		for _, st := range []struct {
			why, mark, cause string
		}{
			{"", "lab/vacuum", "group lab/vacuum is paused"},
			{"shutdown (planned from A to B)", "lab/vacuum: shutdown (planned from A to B)", "group lab/vacuum pauses the PV: shutdown (planned from A to B)"},
			{"its capture ended at C", "lab/vacuum: its capture ended at C", "group lab/vacuum pauses the PV: its capture ended at C"},
		} {
			for range 2 { // the same settings again change nothing
				r.Apply(Assignment{0: groupOf(Settings{Paused: true, PauseReason: st.why}, "A")})
			}
			if m := r.marks.latest("A"); m.Kind != sample.Paused || m.Text != st.mark {
				t.Errorf("the mark is %+v, want the text %q", m, st.mark)
			}
			if s := r.status(t, "A"); s.State != Paused || s.Cause != st.cause || s.Absent != sample.Paused {
				t.Errorf("the status is %+v, want the cause %q", s, st.cause)
			}
			testclock.Advance(time.Minute)
		}
		r.Apply(Assignment{0: groupOf(Settings{}, "A")})
		if want := []string{"A paused", "A paused", "A paused", "A resumed"}; !slices.Equal(r.marks.kinds(), want) {
			t.Errorf("marks %v, want %v", r.marks.kinds(), want)
		}
		if got := r.source.takeCalls(); got != "+A" {
			t.Errorf("subscriptions changed by %q", got)
		}
	})
}

func TestAChannelsLife(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Absolute: 1}, "A")})
		if st := r.status(t, "A"); st.State != Searching {
			t.Fatalf("at first %v", st.State)
		}
		sink := r.connect("A", sample.Float64)
		for i, v := range []float64{0, 0.5, 2, 2.5, 4} {
			s := val(time.Now().UnixNano()+int64(i), v)
			sink.Sample(&s)
		}
		sink.Dropped(sample.Overrun, 3)
		testclock.Advance(30 * time.Second)
		st := r.status(t, "A")
		if st.State != Connected || st.Received != 8 || st.Stored != 3 || st.Dropped[sample.Deadband] != 2 || st.Dropped[sample.Overrun] != 3 {
			t.Fatalf("connected: %+v", st)
		}
		if m := r.marks.latest("A"); m.Kind != sample.Lost || m.Reason != sample.Overrun || m.Count != 3 {
			t.Fatalf("the loss is marked as %+v", m)
		}
		sink.Disconnected(errors.New("connection reset"))
		if st := r.status(t, "A"); st.State != Disconnected || st.Cause != "connection reset" || st.LostConnections != 1 {
			t.Fatalf("disconnected: %+v", st)
		}
		sink = r.connect("A", sample.String)
		sink.Sample(&sample.Sample{Time: 5, Bytes: []byte("on")})
		testclock.Advance(time.Second)
		if st := r.status(t, "A"); st.Type != sample.String || st.Stored != 4 {
			t.Fatalf("after the type changed: %+v", st)
		}
		want := []string{"A connected", "A lost", "A disconnected", "A connected", "A type_changed"}
		if !slices.Equal(r.marks.kinds(), want) {
			t.Errorf("marks %v, want %v", r.marks.kinds(), want)
		}
	})
}

func TestUnsupportedTypesAreReported(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{}, "A")})
		r.source.sinks["A"].Connected(ChannelInfo{TypeName: "NTTable"})
		st := r.status(t, "A")
		if st.State != Unsupported || !strings.Contains(st.Cause, "NTTable") {
			t.Fatalf("%+v", st)
		}
	})
}

func TestScanStoresOnePerPeriod(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Mode: Scan, Period: 10 * time.Second}, "A")})
		sink := r.connect("A", sample.Float64)
		for i := range 65 {
			s := val(time.Now().UnixNano(), float64(i))
			sink.Sample(&s)
			testclock.Advance(time.Second)
		}
		st := r.status(t, "A")
		if st.Stored < 6 || st.Stored > 7 || st.Stored+st.Dropped[sample.Scan] < 63 {
			t.Fatalf("in 65 s: %d stored, %d dropped by the scan", st.Stored, st.Dropped[sample.Scan])
		}
	})
}

func TestAMoveToAnotherShardKeepsCapturing(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{}, "A")})
		sink := r.connect("A", sample.Float64)
		for i := range 10 {
			if i == 5 {
				r.Apply(Assignment{1: groupOf(Settings{}, "A")})
			}
			s := val(int64(i+1), float64(i))
			sink.Sample(&s)
		}
		counts := func(l *journal.ShardJournal) (n int) {
			for _, run := range l.Recent("A", math.MinInt64, math.MaxInt64) {
				n += run.Len()
			}
			return n
		}
		if a, b := counts(r.journals[0]), counts(r.journals[1]); a != 5 || b != 5 {
			t.Fatalf("the shard journals hold %d and %d samples, want 5 and 5", a, b)
		}
		testclock.Advance(time.Second)
		if st := r.status(t, "A"); st.Stored != 10 {
			t.Fatalf("%d samples stored, want 10", st.Stored)
		}
	})
}

func TestShardStatusSumsUpRates(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{}, "A", "B", "C"), 1: groupOf(Settings{}, "D")})
		a, b := r.connect("A", sample.Float64), r.connect("B", sample.Float64.Array())
		for range 120 {
			testclock.Advance(time.Second)
			s := val(time.Now().UnixNano(), float64(time.Now().Unix()))
			a.Sample(&s)
			s = sample.Sample{Time: s.Time, Bytes: binary.LittleEndian.AppendUint64(make([]byte, 792), uint64(s.Time))}
			b.Sample(&s)
		}
		got := r.ShardStatus(0)
		if math.Abs(got.Rate-2) > 0.1 || math.Abs(got.BytesPerSecond-808) > 40 {
			t.Errorf("two channels send a value of 8 bytes and one of 800 each second: %+v", got)
		}
		if got := r.ShardStatus(1); got.BytesPerSecond != 0 {
			t.Errorf("a channel that was never connected: %+v", got)
		}
	})
}

// The rate of a channel is 0 as soon as the channel is disconnected or paused.
func TestChannelsThatAreNotConnectedHaveNoRate(t *testing.T) {
	for name, end := range map[string]func(*rig, Sink){
		"disconnected": func(_ *rig, sink Sink) { sink.Disconnected(errors.New("the IOC has stopped")) },
		"paused": func(r *rig, _ Sink) {
			r.Apply(Assignment{0: groupOf(Settings{Paused: true}, "A")})
		},
	} {
		inManager(t, func(r *rig) {
			r.Apply(Assignment{0: groupOf(Settings{}, "A")})
			sink := r.connect("A", sample.Float64)
			for i := range 60 {
				testclock.Advance(time.Second)
				s := val(time.Now().UnixNano(), float64(i))
				sink.Sample(&s)
			}
			if st := r.status(t, "A"); st.Rate < 0.5 {
				t.Fatalf("%s: the rate before is %v", name, st.Rate)
			}
			end(r, sink)
			if st, sum := r.status(t, "A"), r.ShardStatus(0); st.Rate != 0 || sum.Rate != 0 || sum.BytesPerSecond != 0 {
				t.Errorf("%s: the rate is %v, and of the shard %v with %v bytes/s", name, st.Rate, sum.Rate, sum.BytesPerSecond)
			}
		})
	}
}

func TestTotalsIncludeRemovedChannels(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{}, "A", "B")})
		for _, pv := range []string{"A", "B"} {
			s := val(1, 1)
			sink := r.connect(pv, sample.Float64)
			sink.Sample(&s)
			sink.Sample(&s)
		}
		r.Apply(Assignment{0: groupOf(Settings{}, "B")})
		if tot := r.Totals(); tot.Channels != 1 || tot.Received != 4 || tot.Dropped[sample.Duplicate] != 2 {
			t.Fatalf("%+v", tot)
		}
		if names := slices.Collect(maps.Keys(maps.Collect(indexed(r.Statuses())))); !slices.Equal(names, []string{"B"}) {
			t.Fatalf("statuses of %v", names)
		}
	})
}

func indexed(seq iter.Seq[Status]) iter.Seq2[string, Status] {
	return func(yield func(string, Status) bool) {
		for st := range seq {
			if !yield(st.PV, st) {
				return
			}
		}
	}
}
