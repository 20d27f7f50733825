package seal

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// TestCorrectionOfDeletedSamplesKeepsBins deletes the blocks of a PV while the tiles of the PV wait for
// the correction of a late sample, as the engine of another shard does that had the PV before. The
// bins must not lose the samples that only they have now.
func TestCorrectionOfDeletedSamplesKeepsBins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		level := store.LevelOf(10*time.Second, store.Forever)
		m := newSimulation(t, 1, level)
		m.leading, m.tier, m.lateQuiet, m.lateAge = true, store.Keep30d, time.Hour, time.Hour
		cutoff := int64(math.MinInt64)
		g := m.launch()
		g.shard.cfg.Cutoff = func() int64 { return cutoff }
		m.lead(g)
		at := time.Now().UnixNano()
		for range 3 { // the tiles are complete beyond the late sample
			m.put("A", m.some("A", 10*time.Minute, 500), g)
			m.checkpoint(g)
			testclock.Advance(36 * time.Hour)
		}
		m.checkpoint(g)
		counted := func() (n uint64) {
			for _, tile := range m.rows("A", level) {
				for i := range tile.Bins {
					n += tile.Bins[i].Count
				}
			}
			return n
		}
		before := counted()

		m.putAndEnd("A", []sample.Sample{{Time: at - int64(5*time.Minute), Word: math.Float64bits(1)}})
		if err := g.shard.adoptEnded(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !g.shard.tiles.IsLate("A") {
			t.Fatal("no tile waits for a correction, so the test shows nothing")
		}
		cutoff = at + int64(24*time.Hour)
		deleted := 0
		_ = m.st.with(func() {
			for p, blocks := range m.st.blocks {
				if p.in.End() <= cutoff {
					deleted += len(blocks)
					delete(m.st.blocks, p)
				}
			}
		})
		if deleted == 0 || before < 500 {
			t.Fatalf("%d blocks were deleted, and bins count %d samples, so the test shows nothing", deleted, before)
		}
		testclock.Advance(2 * time.Hour)
		m.checkpoint(g)
		if g.shard.tiles.IsLate("A") {
			t.Error("the tiles still wait for a correction")
		}
		if after := counted(); after < before {
			t.Errorf("bins count %d samples after the deletion, and counted %d before", after, before)
		}
	})
}
