package seal

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// sealer starts an engine that looks up the last sample of a PV in the store.
func sealer(m *simulation) *simEngine {
	g := m.launch()
	g.shard.cfg.Last = func(ctx context.Context, pv string, at int64) (*sample.Run, error) {
		return query.LastInBlocks(ctx, m.st, pv, at)
	}
	return g
}

// TestLateSamplesAreCarriedForwardIntoExistingBuckets seals samples that are older than
// buckets that already exist. A read from one of these buckets must find the last sample
// before it.
func TestLateSamplesAreCarriedForwardIntoExistingBuckets(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(m *simulation, at func(after time.Duration) []sample.Sample)
	}{
		{"late", func(m *simulation, at func(time.Duration) []sample.Sample) {
			g := sealer(m)
			m.put("A", at(0), g)
			for range 5 {
				testclock.Advance(time.Hour)
				m.checkpoint(g)
			}
			m.put("A", at(40*time.Minute), g)
			m.checkpoint(g)
		}},
		{"late, before others", func(m *simulation, at func(time.Duration) []sample.Sample) {
			g := sealer(m)
			m.put("A", at(0), g)
			for range 3 {
				testclock.Advance(time.Hour)
				m.checkpoint(g)
			}
			m.put("A", at(170*time.Minute), g)
			m.checkpoint(g)
			m.put("A", at(40*time.Minute), g)
			m.checkpoint(g)
		}},
		{"another sealer", func(m *simulation, at func(time.Duration) []sample.Sample) {
			a, b := sealer(m), sealer(m)
			m.put("A", at(0), a)
			m.checkpoint(a)
			testclock.Advance(50 * time.Minute)
			m.put("A", at(40*time.Minute), b)
			m.checkpoint(b)
			for range 3 {
				testclock.Advance(time.Hour)
				m.checkpoint(a)
			}
		}},
		{"another sealer, late", func(m *simulation, at func(time.Duration) []sample.Sample) {
			a, b := sealer(m), sealer(m)
			m.put("A", at(0), a)
			for range 4 {
				testclock.Advance(time.Hour)
				m.checkpoint(a)
			}
			m.put("A", at(40*time.Minute), b)
			m.checkpoint(b)
		}},
		{"from the future", func(m *simulation, at func(time.Duration) []sample.Sample) {
			g := sealer(m)
			m.put("A", at(0), g)
			m.put("A", at(150*time.Minute), g)
			m.checkpoint(g)
			testclock.Advance(55 * time.Minute)
			m.put("A", at(40*time.Minute), g)
			m.checkpoint(g)
		}},
	} {
		for _, tier := range []store.Tier{store.Keep1d, store.Keep7d} {
			t.Run(c.name+" "+tier.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := newSimulation(t, 0)
					m.tier = tier
					begin := time.Now().UnixNano()
					c.do(m, func(after time.Duration) []sample.Sample {
						return []sample.Sample{{Time: begin + int64(after), Word: uint64(after)}}
					})
					for _, from := range []time.Duration{45 * time.Minute, 65 * time.Minute, 125 * time.Minute} {
						read, err := (&query.Reader{Store: m.st, Shards: 1}).Read(context.Background(), "A", begin+int64(from), begin+int64(from), query.Options{})
						if err != nil {
							t.Fatal(err)
						}
						for r, err := range read.All {
							if err != nil || r.Times[0] != begin+int64(40*time.Minute) {
								t.Errorf("the last sample before %v is of %v, %v", from, time.Duration(r.Times[0]-begin), err)
							}
						}
					}
				})
			})
		}
	}
}

// TestCarriedRunsLeaveMemory seals samples of a PV that the sealer does not know yet. Once the samples
// are in blocks, the sealer must not hold them any longer: after an outage they are all samples of
// the outage.
func TestCarriedRunsLeaveMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1)
		g := sealer(m)
		m.put("A", m.some("A", time.Minute, 50), g)
		m.checkpoint(g)
		late := g.shard.series["A"].late
		if cap(late) == 0 {
			t.Fatal("the list of late samples was sliced away, or never filled: its memory may hold all of them")
		}
		for _, l := range late[:cap(late)] {
			if l.run != nil {
				t.Errorf("the sealer still holds %d samples, which are in blocks", l.run.Len())
			}
		}
	})
}
