package engine

import (
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// TestLong_RollupsOfImportedSamples checks that the rollups of a PV count its imported samples: those
// before the archive's own, and those between them. The group requests rollups after the import.
func TestLong_RollupsOfImportedSamples(t *testing.T) {
	t.Parallel() // it has its own clock
	raw := store.Retention{Raw: store.Forever}
	inEra(t, raw, func(t *testing.T, e *era) {
		const perDay = 24 * 12
		capture := func(n int) { // one sample every 5 minutes
			for range n {
				e.send(time.Now(), 1)
				testclock.Advance(5 * time.Minute)
			}
		}
		begun := time.Now()
		capture(2 * perDay)
		e.end()

		m := seal.NewImporter("A", 0, true, &seal.Config{
			Store: e.st, Memory: journal.NewMemory(1 << 20), Metrics: seal.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
		})
		add := func(run *sample.Run) {
			if expired, err := m.Store(t.Context(), run); err != nil || expired != 0 {
				t.Fatal(expired, err)
			}
		}
		run := &sample.Run{Type: sample.Float64}
		for at := begun.Add(-10 * days); at.Before(time.Now()); at = at.Add(10 * time.Minute) {
			if run.Append(&sample.Sample{Time: at.Add(time.Minute).UnixNano(), Word: math.Float64bits(2)}); run.Len() == 100 {
				add(run)
				run = &sample.Run{Type: sample.Float64}
			}
		}
		add(run)
		m.Close()

		keep := raw
		keep.Levels[0] = store.LevelOf(time.Hour, store.Forever)
		e.begin(keep)
		capture(2 * perDay)
		if c, _, err := e.st.Channel(t.Context(), "A"); err != nil || len(c.Levels) != 1 {
			t.Fatalf("the archive has rollups of the levels %v, %v", c.Levels, err)
		}
		e.bins(begun.Add(-9*days), 13*24, time.Hour, func(b *rollup.Bin) bool {
			switch at := time.Unix(0, b.Start); {
			case at.Before(begun):
				return b.Count == 6 && b.Min == 2 && b.Max == 2
			case at.Before(begun.Add(2 * days)):
				return b.Count == 18 && b.Min == 1 && b.Max == 2
			default:
				return b.Count == 12 && b.Min == 1 && b.Max == 1
			}
		})
	})
}
