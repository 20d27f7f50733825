package seal

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/layout/layouttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

func images(size int, times ...int64) *sample.Run {
	r := &sample.Run{Type: sample.Uint8.Array()}
	for _, t := range times {
		r.Append(&sample.Sample{Time: t, Bytes: bytes.Repeat([]byte{byte(t)}, size)})
	}
	return r
}

// TestLargeValuesAreNotCarriedForward checks that a bucket begins with a copy of an earlier
// small value, or with a note of the place of an earlier large value. A sealer holds no large
// value from one checkpoint to the next.
func TestLargeValuesAreNotCarriedForward(t *testing.T) {
	for _, c := range []struct{ size, copied int }{{carryBytes, carryBytes}, {carryBytes + 1, 0}} {
		ser, sh := newSeries(store.Hour), layouttest.Blocks{}
		sh.Put(t, plan(ser, images(c.size, noon+5, noon+hour+7)))
		sh.Put(t, ser.carry(store.Hour.Of(noon+3*hour)))
		if got := carriedForward(t, sh); fmt.Sprint(got) != "[1 from 0+5 3 from 1+7]" {
			t.Fatalf("carried: %v", got)
		}
		for _, b := range sh {
			if r := layouttest.Decode(t, b); b.Count == 0 {
				if n := len(r.Value(0)); n != c.copied || (r.Tags[0]&sample.Elsewhere != 0) != (n == 0) {
					t.Errorf("the carried-forward copy of a value of %d bytes has %d bytes and tag %x", c.size, n, r.Tags[0])
				}
			}
		}
		if n := len(ser.last.Bytes); n != c.copied {
			t.Errorf("the sealer holds %d bytes", n)
		}
	}
}

// TestBlocksOfLargeValues checks that a block holds as many values as its size allows, and at
// least one.
func TestBlocksOfLargeValues(t *testing.T) {
	for _, c := range []struct{ size, values, blocks int }{
		{100, 1000, 2}, {layout.FullBytes / 4, 8, 2}, {layout.FullBytes/2 + 1, 4, 4}, {layout.FullBytes, 3, 3}, {1 << 20, 3, 3},
	} {
		ser, sh := newSeries(store.Day), layouttest.Blocks{}
		r := images(c.size)
		for i := range c.values {
			one := images(c.size, noon+int64(i))
			r.AppendRange(one, 0, 1)
		}
		sh.Put(t, plan(ser, r))
		if len(sh) != c.blocks {
			t.Errorf("%d values of %d bytes take %d blocks, want %d", c.values, c.size, len(sh), c.blocks)
		}
		if n := len(sh.Samples(t)); n != c.values {
			t.Errorf("%d of %d values of %d bytes are in blocks", n, c.values, c.size)
		}
	}
}

// countingStore is a store of one shard that counts the samples and bytes that it gets.
type countingStore struct {
	claimStore
	mu      sync.Mutex
	blocks  int // samples in blocks
	largest int // bytes of the largest call
	sealed  store.Position
}

func (c *countingStore) PutBlocks(_ context.Context, blocks ...store.Block) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := 0
	for i := range blocks {
		c.blocks += blocks[i].Count
		size += len(blocks[i].Blob)
	}
	c.largest = max(c.largest, size)
	return nil
}

func (c *countingStore) AddChannel(context.Context, store.Channel) error { return nil }

func (c *countingStore) Channel(context.Context, string) (store.Channel, bool, error) {
	return store.Channel{}, false, nil
}

func (c *countingStore) Seal(_ context.Context, _ int, _ store.WriterID, to store.Position) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealed = to
	return nil
}

func (c *countingStore) count() (blocks int, sealed store.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blocks, c.sealed
}

// TestHeavyPVsAreSealedEarly checks that PVs of large values are sealed before the next
// checkpoint, in batches of bounded size.
func TestHeavyPVsAreSealedEarly(t *testing.T) { sealHeavyPVs(t, 35, 34, 0) }

// TestLong_HeavyPVsAreSealedEarly is TestHeavyPVsAreSealedEarly with more values. It also
// checks that a fast-growing journal makes the next checkpoint earlier.
func TestLong_HeavyPVsAreSealedEarly(t *testing.T) { sealHeavyPVs(t, 60, 50, 4) }

// sealHeavyPVs seals two heavy PVs with a number of values of 1 MiB each. If rounds is not 0,
// it then writes 40 MiB in each round, which must bring about a checkpoint.
func sealHeavyPVs(t *testing.T, first, second, rounds int) {
	t.Helper()
	noise := make([]byte, 1<<20+(1<<12)) // S2 cannot compress it
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	synctest.Test(t, func(t *testing.T) {
		st := &countingStore{claimStore: claimStore{claims: map[store.WriterID]store.Claim{}, reads: map[store.WriterID]int{}}}
		mem := journal.NewMemory(1 << 30)
		shardJournal := journal.NewShardJournal(0, store.WriterID{9}, &journal.Config{Store: st, Flush: 100 * time.Millisecond, RowBytes: 256 << 10,
			Memory: mem, Metrics: journal.NewMetrics(prometheus.NewRegistry(), mem), Log: slog.New(slog.DiscardHandler)})
		shard := NewShard(shardJournal, &Config{Store: st, Every: 1000 * time.Hour, Memory: mem, Slots: make(chan struct{}, 1),
			Ours: func(store.WriterID) bool { return true }, Metrics: NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { shardJournal.Run(ctx, t.Context()) })
		testclock.Advance(time.Second)
		heads := []*journal.Head{shardJournal.Open("A", sample.Struct), shardJournal.Open("B", sample.Struct), shardJournal.Open("C", sample.Struct)}
		n := 0
		send := func(h *journal.Head, values, size int) {
			for range values {
				n++
				v := noise[n : n+size]
				shardJournal.Append(h, sample.Struct, &sample.Sample{Time: noon + int64(n), Bytes: v})
			}
			testclock.Advance(time.Second) // the samples become durable
		}
		send(heads[0], first, 1<<20)
		send(heads[1], second, 1<<20)
		send(heads[2], 3, 1<<20)
		wg.Go(func() { shard.Run(ctx) })
		testclock.Advance(3 * time.Second)
		if blocks, sealed := st.count(); blocks != first+second || sealed != 0 {
			t.Errorf("%d samples are in blocks, up to position %x; want those of two PVs, and no checkpoint", blocks, sealed)
		}
		if most := batchBytes + 2<<20; st.largest > most {
			t.Errorf("%d bytes were written at once, not up to %d", st.largest, most)
		}
		if used := mem.Used(); used > 10<<20 {
			t.Errorf("%d bytes are in use after that", used)
		}
		for range rounds {
			send(heads[0], 40, 1<<20)
		}
		testclock.Advance(10 * time.Second)
		if blocks, sealed := st.count(); rounds > 0 && (blocks != n || sealed != shardJournal.Acked()) {
			t.Errorf("%d of %d samples are in blocks, up to position %x of %x", blocks, n, sealed, shardJournal.Acked())
		}
		cancel()
		wg.Wait()
	})
}
