package seal

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/test/testclock"
)

// stepLate applies a random event to a shard in which corrections wait for more late samples.
func (m *simulation) stepLate() {
	pv := []string{"A", "A", "B"}[m.rng.IntN(3)]
	switch k := m.rng.IntN(12); {
	case k < 3:
		m.did("%s: late samples of a writer that has ended", pv)
		m.putAndEnd(pv, m.some(pv, time.Duration(1+m.rng.IntN(10*60))*time.Minute, 1+m.rng.IntN(5)))
	case k == 3:
		m.did("a pause")
		testclock.Advance(time.Duration(m.rng.IntN(int(m.lateAge))))
	case k < 6:
		g := m.engines[m.rng.IntN(len(m.engines))]
		if m.leading {
			g = m.sealer
		}
		m.did("ended writers are sealed")
		if err := g.shard.adoptEnded(m.t.Context()); err != nil {
			m.t.Fatal(err)
		}
	default:
		m.step()
	}
}

// TestRollupsFollowLateSamples lets corrections wait for more late samples, while engines capture and
// seal a shard in turns, start other terms and take over. After each event it compares what readers
// get with the samples, and at the end it compares the tiles.
func TestRollupsFollowLateSamples(t *testing.T) { sealLate(t, 2, 50) }

// TestLong_RollupsFollowLateSamples is TestRollupsFollowLateSamples with more seeds and events.
func TestLong_RollupsFollowLateSamples(t *testing.T) { sealLate(t, 12, 120) }

func sealLate(t *testing.T, seeds uint64, events int) {
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newSimulation(t, seed, simLevels...)
				m.leading = seed%2 == 1
				m.lateQuiet, m.lateAge = 10*time.Minute, 40*time.Minute
				m.launch()
				waited := false
				for range events {
					m.stepLate()
					waited = waited || slices.ContainsFunc(m.engines, func(g *simEngine) bool { return len(g.shard.held) > 0 })
					for _, pv := range slices.Sorted(maps.Keys(m.all)) {
						m.compareBins(pv)
						m.compareBins(pv)
					}
				}
				if !waited {
					t.Error("no correction waited")
				}
				m.converge()
				m.verifyAll()
			})
		})
	}
}
