package backup

import (
	"context"
	"iter"
	"log/slog"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/check"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/relocation"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// shards is the number of shards of the archives of tests.
const shards = 2

// level is the rollup level of the PVs of engines.
var level = store.LevelOf(time.Second, store.Forever)

func open(t *testing.T, dir string) *pebble.Store {
	t.Helper()
	st, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { release(t, st) })
	return st
}

// closed are the stores that a test closed before its end.
var closed sync.Map

// release closes a store, unless it is closed.
func release(t *testing.T, st *pebble.Store) {
	t.Helper()
	if _, again := closed.LoadOrStore(st, true); !again {
		must(t, st.Close())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is an archive with an engine that captures its PVs, whose samples count from 0 at intervals of 100 ms.
type world struct {
	t      *testing.T
	store  store.Store
	pvs    []string
	begin  int64 // time of sample 0
	sent   int
	engine *engine
}

// engine is the part of an engine that moves the samples of one shard.
type engine struct {
	journal *journal.ShardJournal
	heads   map[string]*journal.Head
	shard   *seal.Shard
	stop    context.CancelFunc
	running sync.WaitGroup
}

func newWorld(t *testing.T, st store.Store, pvs ...string) *world {
	// The samples are of yesterday, so that today's bucket has a carried-forward sample.
	yesterday := store.Day.Of(time.Now().UnixNano()).Start() - int64(time.Hour)
	w := &world{t: t, store: st, pvs: pvs, begin: yesterday}
	w.start()
	t.Cleanup(func() { w.close() })
	return w
}

func (w *world) start() {
	log := slog.New(slog.DiscardHandler)
	mem := journal.NewMemory(1 << 30)
	soft, stop := context.WithCancel(w.t.Context())
	e := &engine{stop: stop, heads: map[string]*journal.Head{}}
	e.journal = journal.NewShardJournal(0, store.NewWriter(), &journal.Config{
		Store: w.store, Flush: time.Hour, RowBytes: 1 << 10, Memory: mem, Metrics: journal.NewMetrics(prometheus.NewRegistry(), mem), Log: log,
	})
	e.running.Go(func() { e.journal.Run(soft, w.t.Context()) })
	<-e.journal.Claimed()
	must(w.t, e.journal.SetSealing(w.t.Context(), store.FirstTerm))
	e.shard = seal.NewShard(e.journal, &seal.Config{
		Store: w.store, Every: time.Minute, Memory: mem, Slots: make(chan struct{}, 1),
		Ours: func(id store.WriterID) bool { return id == e.journal.Writer() },
		Died: func(context.Context, int, int64, int64) error { return nil },
		Retention: func(string) (store.Retention, bool) {
			return store.Retention{Levels: [store.MaxLevels]store.Level{level}}, true
		},
		Captured: func(int) []string { return w.pvs }, Pace: new(relocation.Pace),
		Last: func(ctx context.Context, pv string, at int64) (*sample.Run, error) {
			return query.LastInBlocks(ctx, w.store, pv, at)
		},
		Metrics: seal.NewMetrics(prometheus.NewRegistry()), Log: log,
	})
	w.engine = e
}

// close shuts the engine down in order.
func (w *world) close() {
	w.engine.stop()
	w.engine.running.Wait()
}

// send captures n more samples of each PV, and waits until they are durable.
func (w *world) send(n int) {
	w.t.Helper()
	e := w.engine
	for range n {
		for _, pv := range w.pvs {
			if e.heads[pv] == nil {
				e.heads[pv] = e.journal.Open(pv, sample.Float64)
			}
			s := w.sample(w.sent)
			e.journal.Append(e.heads[pv], sample.Float64, &s)
		}
		w.sent++
	}
	must(w.t, e.journal.Sync(w.t.Context()))
}

func (w *world) sample(n int) sample.Sample {
	return sample.Sample{Time: w.begin + int64(n)*int64(100*time.Millisecond), Word: math.Float64bits(float64(n))}
}

func (w *world) checkpoint() {
	w.t.Helper()
	must(w.t, w.engine.shard.Checkpoint(w.t.Context()))
}

// replace shuts the engine down in order, and starts another one that seals its rows and drops its claim.
func (w *world) replace() {
	w.t.Helper()
	w.close()
	w.start()
	w.checkpoint()
}

// checkRead fails the test unless an archive has the first n samples of each PV, each once and in order.
func (w *world) checkRead(st store.Store, n int, what string) {
	w.t.Helper()
	r := &query.Reader{Store: st, Shards: shards}
	for _, pv := range w.pvs {
		read, err := r.Read(w.t.Context(), pv, query.Earliest, query.Latest, query.Options{})
		must(w.t, err)
		next := 0
		for run, err := range read.All {
			must(w.t, err)
			for k := range run.Len() {
				if got, want := run.At(k), w.sample(next); !got.Same(&want) {
					w.t.Fatalf("%s: %s has %v at %v instead of sample %d", what, pv, got, time.Unix(0, got.Time), next)
				}
				next++
			}
		}
		if next < n {
			w.t.Fatalf("%s: %s has %d samples, want at least %d", what, pv, next, n)
		}
	}
}

// checkArchive fails the test unless varve store check would find no problem.
func checkArchive(t *testing.T, st store.Store, what string) {
	t.Helper()
	report, err := check.Run(t.Context(), st, check.Options{Shards: shards})
	must(t, err)
	for _, f := range report.Findings {
		if f.Severity != check.Info {
			t.Errorf("%s: %s %s, %s: %s", what, f.Kind, f.PV, f.Where, f.Text)
		}
	}
}

// hooked is a store that calls hook before each read of a row, or of a sequence of rows.
type hooked struct {
	*pebble.Store
	hook func(call string)
}

// Claims implements store.Store.
func (h hooked) Claims(ctx context.Context, shard int) ([]store.Claim, error) {
	h.hook("Claims")
	return h.Store.Claims(ctx, shard)
}

// Journal implements store.Store.
func (h hooked) Journal(ctx context.Context, shard int, w store.WriterID, after, through store.Position) iter.Seq2[store.JournalRow, error] {
	h.hook("Journal")
	return h.Store.Journal(ctx, shard, w, after, through)
}

// PVs implements Lister.
func (h hooked) PVs(ctx context.Context) iter.Seq2[string, error] {
	h.hook("PVs")
	return h.Store.PVs(ctx)
}

// Channel implements store.Store.
func (h hooked) Channel(ctx context.Context, pv string) (store.Channel, bool, error) {
	h.hook("Channel")
	return h.Store.Channel(ctx, pv)
}

// Blocks implements store.Store.
func (h hooked) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	h.hook("Blocks")
	return h.Store.Blocks(ctx, pv, b, from, to)
}

// Rollups implements store.Store.
func (h hooked) Rollups(ctx context.Context, pv string, l store.Level, first, last store.Tile) iter.Seq2[store.Rollup, error] {
	h.hook("Rollups")
	return h.Store.Rollups(ctx, pv, l, first, last)
}

// Marks implements store.Store.
func (h hooked) Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error] {
	h.hook("Marks")
	return h.Store.Marks(ctx, pv, from, to)
}

// Cutoff implements store.Store.
func (h hooked) Cutoff(ctx context.Context) (store.Cutoff, bool, error) {
	h.hook("Cutoff")
	return h.Store.Cutoff(ctx)
}

// create makes a backup with small packs.
func create(t *testing.T, st store.Store, d Destination, name string) *Manifest {
	t.Helper()
	m, err := Create(t.Context(), st, d, CreateOptions{Name: name, Shards: shards, packBytes: 4 << 10})
	must(t, err)
	return m
}

// restored restores a backup into a new archive.
func restored(t *testing.T, d Destination, name string) *pebble.Store {
	t.Helper()
	st := open(t, t.TempDir())
	_, _, err := Restore(t.Context(), st, d, RestoreOptions{Name: name, Shards: shards})
	must(t, err)
	return st
}
