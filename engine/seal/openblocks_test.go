package seal

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestOpenBlocksCountAsMemory checks that blocks that still grow count as memory, that they take at
// most a quarter of the limit, and that nothing is counted when the sealer no longer has them.
func TestOpenBlocksCountAsMemory(t *testing.T) {
	const small = 16 << 10
	for _, limit := range []int64{1 << 20, small} {
		synctest.Test(t, func(t *testing.T) {
			m := newSimulation(t, 1)
			m.memory = limit
			g := m.launch()
			most := int64(0)
			for range 15 {
				for _, pv := range []string{"A", "B"} {
					m.put(pv, m.some(pv, time.Minute, 60), g)
				}
				m.checkpoint(g)
				size := int64(0)
				for _, ser := range g.shard.series {
					if ser.open != nil {
						size += int64(len(ser.open.Blob))
					}
				}
				if used := g.shard.cfg.Memory.Used(); used < size || g.shard.cfg.open.Load() != size || size > limit/openShare {
					t.Errorf("with a limit of %d, open blocks of %d bytes are held, and %d bytes are counted", limit, size, used)
				}
				most = max(most, size)
				time.Sleep(time.Minute)
			}
			if over := most > small/openShare; over != (limit > small) {
				t.Errorf("with a limit of %d, open blocks had up to %d bytes", limit, most)
			}
			used := g.shard.cfg.Memory.Used()
			open := g.shard.cfg.open.Load()
			g.shard.dropOpen()
			if now := g.shard.cfg.Memory.Used(); now != used-open || g.shard.cfg.open.Load() != 0 {
				t.Errorf("without open blocks, %d bytes are counted; before, %d, with open blocks of %d", now, used, open)
			}
			g.end()
			times := map[int64]bool{}
			for _, s := range m.all["A"] {
				times[s.Time] = true
			}
			if n, _ := m.samplesInBlocks("A"); n != len(times) {
				t.Errorf("%d samples of A are in blocks, want %d", n, len(times))
			}
		})
	}
}
