package journal

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

var image = sample.Uint8.Array()

// picture returns a value of a size whose first bytes encode i.
func picture(i, size int) *sample.Sample {
	return &sample.Sample{Time: int64(i) * 1e6, Bytes: bytes.Repeat([]byte{byte(i)}, size)}
}

// numbersOf returns which pictures a PV has in the rows of a store.
func (f *faulty) numbersOf(t *testing.T, pv string) (out []int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, row := range f.rows {
		runs, err := Find(row, pv)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			for i := range r.Len() {
				n := int(r.Times[i] / 1e6)
				if v := r.Value(i); v[0] != byte(n) || v[len(v)-1] != byte(n) {
					t.Errorf("picture %d has another's bytes", n)
				}
				out = append(out, n)
			}
		}
	}
	return out
}

// TestLargeValuesStayWithinMemory checks that large values never take more memory than
// allowed, not even for a moment, regardless of how many arrive between two flushes.
func TestLargeValuesStayWithinMemory(t *testing.T) { checkMemory(t, 200) }

// TestLong_LargeValuesStayWithinMemory is TestLargeValuesStayWithinMemory with more values.
func TestLong_LargeValuesStayWithinMemory(t *testing.T) { checkMemory(t, 500) }

// checkMemory appends n large values while the store is unreachable.
func checkMemory(t *testing.T, n int) {
	synctest.Test(t, func(t *testing.T) {
		const limit, size = 4 << 20, 200 << 10
		b := newShardJournal(t, limit)
		h, scalar := b.Open("a", image), b.Open("b", sample.Int64)
		testclock.Advance(time.Second)
		b.store.setFail(func(*store.JournalRow) error { return errUnreachable })
		for i := range n {
			b.Append(h, image, picture(i, size))
			b.Append(scalar, sample.Int64, number(i))
			if used := b.mem.Used(); used > limit {
				t.Fatalf("after %d values %d bytes are in use, of %d", i, used, limit)
			}
			if i%100 == 0 {
				testclock.Advance(10 * time.Second)
			}
		}
		b.store.setFail(nil)
		testclock.Advance(time.Minute)
		if left := b.stop(); left != 0 {
			t.Fatalf("%d samples unsaved", left)
		}
		got := b.store.numbersOf(t, "a")
		if len(got)+int(h.Lost()) != n || len(got) < limit/size/2 || got[len(got)-1] != n-1 {
			t.Errorf("%d stored, %d lost of %d; the last is %d", len(got), h.Lost(), n, got[len(got)-1])
		}
		var marked uint64
		for _, m := range b.lost {
			marked += m.Count
		}
		if all := h.Lost() + scalar.Lost(); marked != all {
			t.Errorf("%d of %d losses are marked", marked, all)
		}
		if used := b.mem.Used(); used > limit {
			t.Errorf("%d bytes are in use at the end", used)
		}
	})
}

// crowded is a slow store that counts how many large rows it is given at once.
type crowded struct {
	faulty
	now, most atomic.Int64
}

func (c *crowded) PutJournal(ctx context.Context, r store.JournalRow) error {
	if len(r.Blob) > largeValue {
		c.most.Store(max(c.most.Load(), c.now.Add(1)))
		defer c.now.Add(-1)
	}
	time.Sleep(100 * time.Millisecond)
	return c.faulty.PutJournal(ctx, r)
}

func (c *crowded) config(memory int64) *Config {
	mem := NewMemory(memory)
	return &Config{
		Store: c, Flush: 100 * time.Millisecond, RowBytes: 4096, Memory: mem, Lost: func(string, sample.Mark) {},
		Metrics: NewMetrics(prometheus.NewRegistry(), mem), Log: slog.New(slog.DiscardHandler),
	}
}

// noisy returns a picture that S2 cannot compress.
func noisy(i, size int) *sample.Sample {
	s := picture(i, size)
	rng := rand.NewChaCha8([32]byte{byte(i)})
	_, _ = rng.Read(s.Bytes)
	return s
}

// TestAShardJournalIsInspectedWhileLargeValuesArrive inspects a shard journal as the sealer
// and readers do, while values arrive. If two locks were taken in different orders, this test
// would deadlock.
func TestAShardJournalIsInspectedWhileLargeValuesArrive(t *testing.T) { inspectShardJournal(t, 400) }

// TestLong_AShardJournalIsInspectedWhileLargeValuesArrive is
// TestAShardJournalIsInspectedWhileLargeValuesArrive with more values.
func TestLong_AShardJournalIsInspectedWhileLargeValuesArrive(t *testing.T) {
	inspectShardJournal(t, 2_000)
}

// inspectShardJournal appends values, and inspects the journal as many times.
func inspectShardJournal(t *testing.T, times int) {
	mem := NewMemory(8 << 20)
	shardJournal := NewShardJournal(0, store.WriterID{1}, &Config{Memory: mem, RowBytes: 256 << 10, Metrics: NewMetrics(prometheus.NewRegistry(), mem),
		Lost: func(string, sample.Mark) {}, Log: slog.New(slog.DiscardHandler)})
	h, v := shardJournal.Open("a", image), picture(1, largeValue)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range times {
			shardJournal.Append(h, image, v)
			h.mu.Lock()
			h.dirty = false // as if it had been flushed
			h.mu.Unlock()
		}
	})
	wg.Go(func() {
		for range times {
			shardJournal.Heads()
			shardJournal.takeDirty()
		}
	})
	wg.Wait()
}

// TestALargePVDelaysNoOtherPV checks that a PV does not wait for another PV whose values
// arrive faster than the store accepts them.
func TestALargePVDelaysNoOtherPV(t *testing.T) { checkDelay(t, 500) }

// TestLong_ALargePVDelaysNoOtherPV is TestALargePVDelaysNoOtherPV for a longer time.
func TestLong_ALargePVDelaysNoOtherPV(t *testing.T) { checkDelay(t, 2000) }

// checkDelay appends n samples of a PV of large values and of another PV. The large values
// exceed the memory of the journal.
func checkDelay(t *testing.T, n int) {
	synctest.Test(t, func(t *testing.T) {
		st := &crowded{}
		l := NewShardJournal(0, store.WriterID{1}, st.config(16<<20))
		h, other := l.Open("a", image), l.Open("b", sample.Int64)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { l.Run(ctx, t.Context()) })
		for i := range n {
			l.Append(h, image, picture(i, 64<<10))
			l.Append(other, sample.Int64, number(i))
			testclock.Advance(25 * time.Millisecond)
			if waiting := i - int(other.Stored()); waiting > 20 { // 0.5 s
				t.Fatalf("after %d samples %d samples of the other PV wait", i, waiting)
			}
		}
		cancel()
		wg.Wait()
		if !slices.Equal(st.words(t, "b"), upTo(0, n)) {
			t.Error("the other PV does not have the samples that were appended")
		}
	})
}

// TestSharedValuesStay checks that values that a reader holds do not change, regardless of
// what the head does.
func TestSharedValuesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShardJournal(t, 1<<30)
		defer b.stop()
		h := b.Open("a", image)
		var seen []*sample.Run
		for i := range 60 {
			b.Append(h, image, picture(i, 64<<10+i))
			seen = append(seen, b.Recent("a", math.MinInt64, math.MaxInt64)...)
			if i%7 == 0 {
				testclock.Advance(time.Second)
				var r sample.Run
				h.Sealed(h.Unsealed(&r, 100<<10))
				seen = append(seen, &r)
			}
		}
		for _, r := range seen {
			for i := range r.Len() {
				n := int(r.Times[i] / 1e6)
				if !bytes.Equal(r.Value(i), picture(n, 64<<10+n).Bytes) {
					t.Fatalf("picture %d has changed", n)
				}
			}
		}
	})
}

func TestUnsealedComesInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShardJournal(t, 1<<30)
		defer b.stop()
		h, scalar := b.Open("a", image), b.Open("b", sample.Int64)
		for i := range 20 {
			b.Append(h, image, picture(i, 100<<10))
		}
		for i := range 3000 {
			b.Append(scalar, sample.Int64, number(i))
		}
		testclock.Advance(time.Second)
		for _, c := range []struct {
			h          *Head
			most, want int
		}{{h, 1, 1}, {h, 350 << 10, 3}, {h, 1 << 30, 20}, {scalar, 1, 1}, {scalar, 20 * 100, 100}, {scalar, 1 << 20, 3000}} {
			var r sample.Run
			if through := c.h.Unsealed(&r, c.most); through != uint64(c.want) || r.Len() != c.want {
				t.Errorf("%d samples of %s fit into %d bytes, want %d", through, c.h.PV, c.most, c.want)
			}
		}
		if h.Urgent() || b.TakeUrgent() {
			t.Error("2 MB make a head heavy")
		}
		for i := range 40 {
			b.Append(h, image, picture(i, 1<<20))
		}
		testclock.Advance(time.Second)
		if !h.Urgent() || !b.TakeUrgent() || b.TakeUrgent() {
			t.Error("42 MB do not make a head heavy exactly once")
		}
		if w := b.Written(); w == 0 {
			t.Error("no bytes count as written")
		}
	})
}

// TestFewLargeRowsAreUnderWayAtOnce checks that only a few shard journals have a large row
// under way at the same time.
func TestFewLargeRowsAreUnderWayAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &crowded{}
		cfg := st.config(1 << 30)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 3 * maxLargeRows {
			l := NewShardJournal(i, store.NewWriter(), cfg)
			h := l.Open(fmt.Sprint(i), image)
			for k := range 10 {
				l.Append(h, image, noisy(k, 80<<10))
			}
			wg.Go(func() {
				if n := l.Run(ctx, t.Context()); n != 0 {
					t.Errorf("%d samples unsaved", n)
				}
			})
		}
		testclock.Advance(10 * time.Second)
		cancel()
		wg.Wait()
		if most := st.most.Load(); most != maxLargeRows {
			t.Errorf("%d large rows were under way at once, want %d", most, maxLargeRows)
		}
		if len(cfg.Memory.turns) != 0 {
			t.Errorf("%d turns were not returned", len(cfg.Memory.turns))
		}
		if n := len(st.rows); n != 10*3*maxLargeRows {
			t.Errorf("%d rows were written", n)
		}
	})
}
