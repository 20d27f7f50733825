package spool

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/s2"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newRow makes a row of a shard with the values from (inclusive) to to (exclusive) of some
// PVs, in the format of docs/format/journal.md. A value is its time in milliseconds.
func newRow(shard, from, to int, pvs ...string) journal.SpoolRow {
	return packRow(shard, to, (to-from)*len(pvs), pvs, func() *sample.Run {
		run := &sample.Run{Type: sample.Int64}
		for i := from; i < to; i++ {
			run.Append(&sample.Sample{Time: int64(i) * 1e6, Word: uint64(i)})
		}
		return run
	})
}

// packRow makes a row that was flushed at a time, with a new run of values for each PV.
func packRow(shard, flushed, samples int, pvs []string, newRun func() *sample.Run) journal.SpoolRow {
	index, body := binary.AppendVarint([]byte{1}, int64(flushed)), []byte(nil)
	for _, pv := range pvs {
		blob := block.Append(nil, newRun())
		index = append(binary.AppendUvarint(append(index, 0), uint64(len(pv))), pv...)
		index = binary.AppendUvarint(index, uint64(len(blob)))
		body = append(body, blob...)
	}
	return journal.SpoolRow{Shard: shard, Samples: samples, Index: index, Blob: s2.Encode(nil, body)}
}

func pvOf(shard int) string { return fmt.Sprintf("SR:%d", shard) }

// fixture is a running spool.
type fixture struct {
	*Spool
	t    *testing.T
	stop func()
}

const testArchive = "the keyspace test, with 4 shards"

func config(fs vfs.FS) Config {
	return Config{
		Dir: "spool", Archive: testArchive, Size: MinSize, Sync: 10 * time.Millisecond, FS: fs,
		Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	}
}

// start opens a spool and runs it until stop or the end of the test.
func start(t *testing.T, cfg Config) *fixture {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(ctx) })
	b := &fixture{Spool: s, t: t}
	b.stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(b.stop)
	return b
}

func (b *fixture) put(rows ...journal.SpoolRow) {
	b.t.Helper()
	if err := b.Put(rows); err != nil {
		b.t.Fatal(err)
	}
}

// drain sends the waiting rows to a store until the returned function is called.
func (b *fixture) drain(to *archive) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { b.Drain(ctx, to.target()) })
	stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	b.t.Cleanup(stop)
	return stop
}

// archive is a store in memory whose requests a test can make fail.
type archive struct {
	mu     sync.Mutex
	fail   func(shard int) error // nil: never
	rows   map[int][]store.JournalRow
	claims map[int]map[store.WriterID]store.Claim
	puts   int // of rows
	hidden int // rows that were put before their claim
	refuse int // number of further claims to refuse, although they are stored
	under  int // rows under way
	most   int // the most rows that were under way at once
	slow   time.Duration

	stored map[string]uint64
	lost   map[string]sample.Mark
	ours   map[string]uint64

	damaged []sample.Mark
}

func newArchive() *archive {
	return &archive{
		rows: map[int][]store.JournalRow{}, claims: map[int]map[store.WriterID]store.Claim{},
		stored: map[string]uint64{}, lost: map[string]sample.Mark{}, ours: map[string]uint64{},
	}
}

func (a *archive) target() Target {
	return Target{
		Store: a,
		Damaged: func(_ int, m sample.Mark) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.damaged = append(a.damaged, m)
		},
		Stored: func(pv string, n uint64) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.stored[pv] += n
		},
		Lost: func(pv string, ours uint64, m sample.Mark) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.lost[pv] = m
			a.ours[pv] += ours
		},
	}
}

var errUnreachable = errors.New("the store is unreachable")

func (a *archive) setFail(fail func(shard int) error) {
	a.mu.Lock()
	a.fail = fail
	a.mu.Unlock()
}

func always(int) error { return errUnreachable }

func (a *archive) check(shard int) error {
	if a.fail == nil {
		return nil
	}
	return a.fail(shard)
}

func (a *archive) Claims(_ context.Context, shard int) ([]store.Claim, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	claims := []store.Claim{{Shard: shard, Epoch: 7}}
	for _, c := range a.claims[shard] {
		claims = append(claims, c)
	}
	return claims, a.check(shard)
}

func (a *archive) PutClaim(_ context.Context, c store.Claim) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.check(c.Shard); err != nil {
		return err
	}
	if a.refuse > 0 {
		a.refuse--
		return errUnreachable
	}
	if a.claims[c.Shard] == nil {
		a.claims[c.Shard] = map[store.WriterID]store.Claim{}
	}
	a.claims[c.Shard][c.Writer] = c
	return nil
}

func (a *archive) PutJournal(_ context.Context, r store.JournalRow) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.under++
	a.most = max(a.most, a.under)
	a.mu.Unlock()
	time.Sleep(a.slow)
	a.mu.Lock()
	a.under--
	if err := a.check(r.Shard); err != nil {
		return err
	}
	a.puts++
	if _, claimed := a.claims[r.Shard][r.Writer]; !claimed {
		a.hidden++
	}
	rows := a.rows[r.Shard]
	if i := slices.IndexFunc(rows, func(o store.JournalRow) bool { return o.Writer == r.Writer && o.At == r.At }); i >= 0 {
		if string(rows[i].Index) != string(r.Index) || string(rows[i].Blob) != string(r.Blob) {
			panic(fmt.Sprintf("two rows at %x", r.At))
		}
		return nil
	}
	a.rows[r.Shard] = append(rows, r)
	return nil
}

// words returns the values of a PV that a reader finds: those in rows whose writer has a claim
// and whose partitions follow one another from the first partition.
func (a *archive) words(t *testing.T, shard int, pv string) (out []int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	parts := map[store.WriterID]uint32{}
	for _, r := range a.rows[shard] {
		if _, claimed := a.claims[shard][r.Writer]; !claimed {
			continue
		}
		if n := r.At.N(); n > parts[r.Writer]+1 {
			t.Fatalf("partition %d of a writer follows partition %d", n, parts[r.Writer])
		}
		parts[r.Writer] = r.At.N()
		runs, err := journal.Find(r, pv)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range runs {
			out = append(out, ints(run)...)
		}
	}
	return out
}

func ints(r *sample.Run) (out []int) {
	for _, w := range r.Words {
		out = append(out, int(w))
	}
	return out
}

func (a *archive) open() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range a.claims {
		for _, c := range of {
			if !c.Closed {
				n++
			}
		}
	}
	return n
}

func count(from, to int) (out []int) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// held returns the waiting values of a PV.
func (b *fixture) held(shard int, pv string) (out []int) {
	runs, err := b.Recent(pv, math.MinInt64, math.MaxInt64, shard)
	if err != nil {
		b.t.Error(err)
	}
	for _, run := range runs {
		out = append(out, ints(run)...)
	}
	return out
}

// files returns the names of the segments.
func files(t *testing.T, fs vfs.FS) (names []string) {
	t.Helper()
	all, err := fs.List("spool")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if name != "LOCK" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func discard() *bufio.Writer { return bufio.NewWriter(io.Discard) }

// advance lets time pass in a synctest bubble until all other goroutines wait.
func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
