package seal

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/store"
)

// TestReleasedSamplesAreSealed runs an engine whose memory is too small for the samples between
// two checkpoints. All samples must get into blocks, and rollups must agree with them.
func TestReleasedSamplesAreSealed(t *testing.T) { sealReleased(t, 3) }

// TestLong_ReleasedSamplesAreSealed is TestReleasedSamplesAreSealed with more seeds.
func TestLong_ReleasedSamplesAreSealed(t *testing.T) { sealReleased(t, 30) }

func sealReleased(t *testing.T, seeds uint64) {
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 9))
			level := store.LevelOf(10*time.Second, store.Forever)
			m := newSimulation(t, seed, level)
			m.memory = 16 << 10
			g := m.launch()
			released := 0
			for range 12 {
				for range 1 + rng.IntN(20) {
					for _, pv := range []string{"A", "B"} {
						m.put(pv, m.some(pv, time.Minute, 1+rng.IntN(60)), g)
					}
					time.Sleep(time.Duration(rng.IntN(90)) * time.Second)
					if _, _, some := g.shardJournal.Released(); some {
						released++
					}
				}
				m.checkpoint(g)
				if after, to, some := g.shardJournal.Released(); some {
					t.Fatalf("seed %d: after a checkpoint the rows from %d to %d are still released", seed, after, to)
				}
				for _, h := range g.shardJournal.Heads() {
					if h.Acked() != 0 {
						t.Fatalf("seed %d: %d samples of %s are in memory after a checkpoint", seed, h.Acked(), h.PV)
					}
				}
				if c := m.st.claims[g.shardJournal.Writer()]; c.Sealed != g.shardJournal.Acked() {
					t.Fatalf("seed %d: the claim says %d is sealed, of %d", seed, c.Sealed, g.shardJournal.Acked())
				}
			}
			if released == 0 {
				t.Fatalf("seed %d: memory was never short", seed)
			}
			for pv := range simTypes {
				want, sure := m.sealed(pv, level)
				all := m.journalled(pv, level)
				if len(want) != len(all) {
					t.Fatalf("seed %d: the blocks of %s give %d bins, all samples give %d", seed, pv, len(want), len(all))
				}
				for i := range want {
					if want[i].Count != all[i].Count {
						t.Fatalf("seed %d: a bin of %s counts %d samples in blocks, of %d", seed, pv, want[i].Count, all[i].Count)
					}
				}
				m.verify(pv, level, want, sure)
			}
		})
	}
}
