package seal

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// slowCost is what a shard writes for PVs with a sample every 15 minutes.
type slowCost struct {
	samples               int
	blocks, tiles         int // rows written
	blockBytes, tileBytes int // of these rows, without keys and columns
}

// since returns the costs after an earlier moment.
func (c slowCost) since(o slowCost) slowCost {
	return slowCost{c.samples - o.samples, c.blocks - o.blocks, c.tiles - o.tiles, c.blockBytes - o.blockBytes, c.tileBytes - o.tileBytes}
}

func (c slowCost) String() string {
	per := func(n int) float64 { return float64(n) / float64(c.samples) }
	return fmt.Sprintf("%d samples; per sample, %.2f blocks with %.0f bytes and %.2f tiles with %.0f bytes are written", c.samples, per(c.blocks), per(c.blockBytes),
		per(c.tiles), per(c.tileBytes))
}

// simulateSlow captures PVs for some days, and returns the costs of each day. Each PV has the reading of a thermometer with two
// decimals every 15 minutes, at most ten minutes before a checkpoint. held is the bytes of the blocks at the end.
func simulateSlow(t *testing.T, pvs, days int) (each []slowCost, held int) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1, store.LevelOf(time.Minute, store.Forever), store.LevelOf(time.Hour, store.Forever))
		var mu sync.Mutex // guards c and last, because series are written in parallel
		var c, before slowCost
		last := map[store.BlockKey]int{}
		m.st.stored = func(b *store.Block) {
			mu.Lock()
			defer mu.Unlock()
			c.blocks, c.blockBytes = c.blocks+1, c.blockBytes+len(b.Blob)
			last[b.BlockKey] = len(b.Blob)
		}
		m.st.refuseTile = func(r *store.Rollup) error {
			mu.Lock()
			defer mu.Unlock()
			c.tiles, c.tileBytes = c.tiles+1, c.tileBytes+len(r.Blob)
			return nil
		}
		time.Sleep(time.Until(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)))
		g := m.launch()
		rng := rand.New(rand.NewPCG(2, 3))
		values := make([]float64, pvs)
		for range days {
			for range 24 * 4 {
				time.Sleep(15 * time.Minute)
				for i := range pvs {
					values[i] += rng.NormFloat64() / 10
					pv, at := fmt.Sprintf("SLOW:%d", i), time.Now().UnixNano()-rng.Int64N(int64(10*time.Minute))
					v := math.Round(100*(20+values[i])) / 100
					g.shardJournal.Append(g.shardJournal.Open(pv, sample.Float64), sample.Float64, &sample.Sample{Time: at, Word: math.Float64bits(v)})
					c.samples++
				}
				if err := g.shardJournal.Sync(context.Background()); err != nil {
					t.Fatal(err)
				}
				m.checkpoint(g)
			}
			each, before = append(each, c.since(before)), c
		}
		for _, n := range last {
			held += n
		}
		g.end()
	})
	return each, held
}

// TestLong_ASlowPVRewritesItsBlockAtEachCheckpoint measures what slow PVs cost: each checkpoint writes the block of each PV again, with
// one sample more, until the block is half full. That takes three weeks, which have 5.7 kB of blocks per sample. The test takes
// three days, to save time. A change that writes more fails here. A change that writes less lowers the bounds.
func TestLong_ASlowPVRewritesItsBlockAtEachCheckpoint(t *testing.T) {
	const pvs, days = 2, 3
	each, held := simulateSlow(t, pvs, days)
	for i, c := range each {
		t.Logf("day %d: %v", i+1, c)
		if c.blocks < c.samples || c.blocks > c.samples+3*pvs {
			t.Errorf("day %d: %d blocks were written for %d samples", i+1, c.blocks, c.samples)
		}
		if most := (i + 1) * 700 * c.samples; c.blockBytes > most {
			t.Errorf("day %d: %d bytes of blocks were written, at most %d are expected", i+1, c.blockBytes, most)
		}
	}
	t.Logf("the blocks have %d bytes in the end", held)
}
