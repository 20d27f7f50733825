package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// taps is a source through which the test sends updates to all subscriptions.
type taps struct {
	mu    sync.Mutex
	sinks map[string][]capture.Sink
	// delay is how long a subscription takes to connect.
	delay time.Duration
}

func (s *taps) Subscribe(pv string, _ capture.SubscribeOptions, sink capture.Sink) capture.Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sinks == nil {
		s.sinks = map[string][]capture.Sink{}
	}
	s.sinks[pv] = append(s.sinks[pv], sink)
	connect := func() {
		sink.Connected(capture.ChannelInfo{Type: sample.Float64, TypeName: "DBR_DOUBLE", Count: 1, Host: "ioc:5064"})
	}
	if s.delay == 0 {
		connect()
	} else {
		time.AfterFunc(s.delay, connect)
	}
	return tapped{s, pv, sink}
}

func (s *taps) Close() error { return nil }

func (*taps) Reach() capture.Reach { return capture.Reach{} }

type tapped struct {
	s    *taps
	pv   string
	sink capture.Sink
}

func (t tapped) Close() {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.sinks[t.pv] = slices.DeleteFunc(t.s.sinks[t.pv], func(s capture.Sink) bool { return s == t.sink })
}

// send sends the values in [from, to) of a PV, one every millisecond since t0.
func (s *taps) send(pv string, from, to int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sink := range s.sinks[pv] {
		for i := from; i < to; i++ {
			sink.Sample(&sample.Sample{Time: t0 + int64(i)*1e6, Word: math.Float64bits(float64(i))})
		}
	}
}

// t0 is one second before the end of an hour, so that samples fall into two buckets.
const t0 = 1_700_002_799 * 1e9

// mortal is a store whose writes can be made to fail permanently, as if the process were
// killed.
type mortal struct {
	store.Store
	dead    atomic.Bool
	reading *sync.RWMutex // held during reads, so that no bucket is dropped; may be nil
}

var errDead = errors.New("the process was killed")

func (m *mortal) err() error {
	if m.dead.Load() {
		return errDead
	}
	return nil
}

func (m *mortal) PutJournal(ctx context.Context, r store.JournalRow) error {
	return m.alive(func() error { return m.Store.PutJournal(ctx, r) })
}

func (m *mortal) PutClaim(ctx context.Context, c store.Claim) error {
	return m.alive(func() error { return m.Store.PutClaim(ctx, c) })
}

func (m *mortal) PutBlocks(ctx context.Context, b ...store.Block) error {
	return m.alive(func() error { return m.Store.PutBlocks(ctx, b...) })
}

func (m *mortal) Seal(ctx context.Context, shard int, w store.WriterID, to store.Position) error {
	return m.alive(func() error { return m.Store.Seal(ctx, shard, w, to) })
}

func (m *mortal) AddChannel(ctx context.Context, c store.Channel) error {
	return m.alive(func() error { return m.Store.AddChannel(ctx, c) })
}

func (m *mortal) DropBucket(ctx context.Context, pv string, b store.Bucket, before int64) (bytes int64, err error) {
	if m.reading != nil {
		m.reading.RLock()
		defer m.reading.RUnlock()
	}
	err = m.alive(func() (err error) { bytes, err = m.Store.DropBucket(ctx, pv, b, before); return err })
	return bytes, err
}

func (m *mortal) alive(f func() error) error {
	if err := m.err(); err != nil {
		return err
	}
	return f()
}

// life is one run of an engine, from start to end.
type life struct {
	*Engine
	source *taps
	store  *mortal
	reader *query.Reader
	end    func() int
}

func start(t *testing.T, st store.Store, checkpoint time.Duration, pvs ...string) *life {
	l := launch(t, st, &taps{}, Options{Checkpoint: checkpoint, Exclusive: true})
	l.assign(pvs...)
	return l
}

// launch runs an engine that holds no shards yet.
func launch(t *testing.T, st store.Store, source *taps, opts Options, change ...func(*life)) *life {
	l := &life{source: source, store: &mortal{Store: st}}
	opts.Store, opts.Shards, opts.Flush, opts.Grace = l.store, 4, 10*time.Millisecond, 200*time.Millisecond
	if opts.Sources == (capture.Sources{}) {
		opts.Sources = capture.Sources{source}
	}
	l.Engine = New(opts)
	l.reader = &query.Reader{Store: st, Recent: l, Shards: 4}
	for _, f := range change {
		f(l)
	}
	ctx, cancel := context.WithCancel(t.Context())
	unsaved := make(chan int, 1)
	go func() { unsaved <- l.Run(ctx) }()
	l.end = sync.OnceValue(func() int { cancel(); return <-unsaved })
	t.Cleanup(func() { l.end() })
	return l
}

// allOf returns an assignment of PVs to four shards, all sealed.
func allOf(pvs ...string) Assignment {
	a := Assignment{}
	for i := range 4 {
		a[i] = Shard{Seal: true}
	}
	for i, pv := range pvs {
		s := a[i%4]
		s.Channels = append(s.Channels, capture.Channel{PV: pv, Group: "lab/test", Settings: &capture.Settings{}})
		a[i%4] = s
	}
	return a
}

// assign applies an assignment of PVs with no filters.
func (l *life) assign(pvs ...string) {
	l.Apply(allOf(pvs...))
}

// kill ends the engine like kill -9: nothing reaches the store any more.
func (l *life) kill() {
	l.store.dead.Store(true)
	l.end()
}

// eventually waits until background work makes a condition true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(4 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// values reads all values of a PV with a reader.
func values(t *testing.T, r *query.Reader, pv string) []int {
	t.Helper()
	read, err := r.Read(t.Context(), pv, t0-1e9, t0+1e15, query.Options{})
	if err != nil {
		t.Fatalf("reading %s: %v", pv, err)
	}
	var out []int
	for run, err := range read.All {
		if err != nil {
			t.Fatalf("reading %s: %v", pv, err)
		}
		for i := range run.Len() {
			out = append(out, int(run.Float(i)))
		}
	}
	return out
}

func count(from, to int) (out []int) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

func openStore(t *testing.T) store.Store {
	t.Helper()
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func TestSamplesAreReadableAtOnceAndAfterwards(t *testing.T) {
	st := openStore(t)
	l := start(t, st, time.Hour, "A", "B")
	l.source.send("A", 0, 5000)
	if got := values(t, l.reader, "A"); !slices.Equal(got, count(0, 5000)) {
		t.Fatalf("just received: %d samples read", len(got))
	}
	if got := values(t, l.reader, "B"); len(got) != 0 {
		t.Fatalf("a PV without samples has %d", len(got))
	}
	if n := l.end(); n != 0 {
		t.Fatalf("%d samples unsaved", n)
	}
	if s := l.Summary(); s.Received != 5000 || s.Stored != 5000 || s.Pending != 0 {
		t.Fatalf("summary: %+v", s)
	}
	cold := &query.Reader{Store: st, Shards: 4}
	next := start(t, st, time.Hour)
	eventually(t, "the rows of the ended engine are sealed", func() bool {
		known, err := cold.Known(t.Context(), "A")
		return err == nil && known && slices.Equal(values(t, cold, "A"), count(0, 5000))
	})
	next.end()
}

// TestNothingIsLostThroughKillAndRestart kills and starts engines at random moments. Every
// sample that was acknowledged, or read as stored, must be in the archive exactly once.
func TestNothingIsLostThroughKillAndRestart(t *testing.T) {
	st := openStore(t)
	sent := 0
	var stored []int // values known to be acknowledged
	for round := range 6 {
		l := start(t, st, 30*time.Millisecond, "A")
		for range 3 {
			first := sent
			sent += 700
			l.source.send("A", first, sent)
			eventually(t, "samples are acknowledged", func() bool { s, _ := l.Capture().Status("A"); return s.Stored >= uint64(700) && l.Unsaved() == 0 })
			stored = append(stored, count(first, sent)...)
			if got := values(t, l.reader, "A"); !slices.Equal(got, stored) {
				t.Fatalf("round %d: %d samples read, %d stored", round, len(got), len(stored))
			}
		}
		if round%2 == 0 {
			l.kill()
		} else {
			l.end()
		}
	}
	l := start(t, st, 30*time.Millisecond, "A")
	if got := values(t, l.reader, "A"); !slices.Equal(got, stored) {
		t.Fatalf("after the last restart: %d samples read, %d stored", len(got), len(stored))
	}
	eventually(t, "only the claims of living writers remain", func() bool {
		for shard := range 4 {
			claims, err := st.Claims(t.Context(), shard)
			if err != nil || len(claims) != 1 {
				return false
			}
		}
		return true
	})
	if got := values(t, l.reader, "A"); !slices.Equal(got, stored) {
		t.Fatalf("after adoption: %d samples read, %d stored", len(got), len(stored))
	}
}

func TestADeathIsMarked(t *testing.T) {
	st := openStore(t)
	before := time.Now().UnixNano()
	l := start(t, st, time.Hour, "A")
	l.source.send("A", 0, 10)
	eventually(t, "samples are acknowledged", func() bool { return l.Unsaved() == 0 })
	l.kill()
	l = start(t, st, time.Hour, "A")
	eventually(t, "the death is marked", func() bool {
		for m, err := range l.reader.Marks(t.Context(), "A", before, time.Now().UnixNano()) {
			if err != nil {
				t.Fatal(err)
			}
			if m.Kind == sample.Died && m.Time >= before && m.End > m.Time {
				return true
			}
		}
		return false
	})
}

// TestReadsSeeNoHoleWhileSealing reads continuously while checkpoints move samples from memory
// to blocks.
func TestReadsSeeNoHoleWhileSealing(t *testing.T) {
	l := start(t, openStore(t), time.Millisecond, "A")
	for sent := 0; sent < 20000; sent += 250 {
		l.source.send("A", sent, sent+250)
		got := values(t, l.reader, "A")
		if !slices.Equal(got, count(0, sent+250)) {
			t.Fatalf("%d samples read, %d sent: %s", len(got), sent+250, firstGap(got))
		}
	}
}

func firstGap(got []int) string {
	for i, v := range got {
		if v != i {
			return fmt.Sprintf("value %d at place %d", v, i)
		}
	}
	return "the end is missing"
}
