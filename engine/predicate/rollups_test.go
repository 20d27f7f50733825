package predicate

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// counting counts the blocks that are read. Readers read ahead, so it is safe for concurrent use.
type counting struct {
	store.Store
	mu     sync.Mutex
	blocks map[string]int
}

func (c *counting) count(pv string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocks[pv]++
}

func (c *counting) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (store.Block, bool, error) {
	c.count(pv)
	return c.Store.LastBlock(ctx, pv, b, at)
}

func (c *counting) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		for blk, err := range c.Store.Blocks(ctx, pv, b, from, to) {
			c.count(pv)
			if !yield(blk, err) {
				return
			}
		}
	}
}

// TestRollupsSaveReadingBlocks searches ten days of a PV for an hour in which it is high. Its rollups
// show where that can be. It reads few blocks, also of the PV whose samples are selected, and finds
// the same as without rollups.
func TestRollupsSaveReadingBlocks(t *testing.T) {
	a := newArchive(t, 1)
	const hours = 240
	for h := range int64(hours) {
		for _, pv := range []string{"B", "X"} {
			r := &sample.Run{Type: sample.Float64}
			for k := range int64(60) {
				v := float64(k % 7)
				if h == 100 && k >= 20 && k < 30 {
					v = 50
				}
				r.Append(&sample.Sample{Time: base + (h*60+k)*60*second, Word: math.Float64bits(v)})
			}
			a.put(pv, uint32(h), r)
		}
	}
	const text = "B > 10 and not severity(B) = INVALID"
	from, to := base, base+hours*3600*second-1
	read := func() (blocks map[string]int, all []Interval, samples []string) {
		c := &counting{Store: a.st, blocks: map[string]int{}}
		a.reader.Store = c
		defer func() { a.reader.Store = a.st }()
		all, samples = a.intervals(text, from, to), a.filtered(text, "X", from, to)
		c.mu.Lock()
		defer c.mu.Unlock()
		return maps.Clone(c.blocks), all, samples
	}
	allBlocks, want, wantSamples := read()
	a.rollUp("B", store.LevelOf(time.Minute, store.Forever))
	blocks, got, samples := read()
	if !slices.Equal(got, want) || !slices.Equal(samples, wantSamples) || len(got) != 3 || len(samples) != 10 {
		t.Errorf("with rollups there are %v and %d samples, want %v and %d", got, len(samples), want, len(wantSamples))
	}
	if allBlocks["B"] < 2*hours || blocks["B"] > 40 || blocks["X"] > 20 {
		t.Errorf("%v blocks were read, and %v without rollups", blocks, allBlocks)
	}
}
