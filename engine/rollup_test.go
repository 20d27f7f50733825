package engine

import (
	"testing"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// TestLong_BinsOutliveSamples checks that bins outlive their samples and are complete up to now.
// This must hold through restarts and for a level that the group requests later.
func TestLong_BinsOutliveSamples(t *testing.T) {
	t.Parallel() // it has its own clock
	keep := store.Retention{Raw: store.Keep1d, Levels: [store.MaxLevels]store.Level{
		store.LevelOf(10*time.Minute, store.Keep7d), store.LevelOf(time.Hour, store.Forever),
	}}
	inEra(t, keep, func(t *testing.T, e *era) {
		begun := time.Now()
		for n := range 10 * 24 * 12 { // one sample every 5 minutes for ten days
			e.send(time.Now(), float64(n%12))
			testclock.Advance(5 * time.Minute)
			switch n {
			case 4 * 24 * 12:
				e.end()
				e.begin(keep)
			case 7 * 24 * 12:
				keep.Levels[2] = store.LevelOf(6*time.Hour, store.Forever)
				e.keep(keep)
			case 9 * 24 * 12:
				if err := e.st.Expire(t.Context(), time.Now().UnixNano()); err != nil {
					t.Fatal(err)
				}
			}
		}
		e.bins(begun, 10*24, time.Hour, func(b *rollup.Bin) bool { return b.Count == 12 && b.Min == 0 && b.Max == 11 && b.Last == 11 })
		e.bins(time.Now().Add(-6*days), 6*24*6, 10*time.Minute, func(b *rollup.Bin) bool { return b.Count == 2 })
		e.bins(time.Now().Add(-3*days), 3*4, 6*time.Hour, func(b *rollup.Bin) bool { return b.Count == 72 })
	})
}

// bins reads the bins from a time until now and checks all but the first and the last.
func (e *era) bins(from time.Time, points int, width time.Duration, good func(*rollup.Bin) bool) {
	e.t.Helper()
	bins, err := e.reader.Bins(e.t.Context(), "A", from.UnixNano(), time.Now().UnixNano(), points, query.BinOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	if time.Duration(bins.Width) != width {
		e.t.Fatalf("bins of %v, not of %v", time.Duration(bins.Width), width)
	}
	n := 0
	var last rollup.Bin
	for b, err := range bins.All {
		if err != nil {
			e.t.Fatal(err)
		}
		if n > 1 && !good(&last) || time.Duration(b.Width) != width {
			e.t.Errorf("bin %d of %d is %+v", n-1, points, last)
		}
		if n > 0 && b.Start != last.End() {
			e.t.Errorf("the bin at %v follows one that ends at %v", time.Unix(0, b.Start), time.Unix(0, last.End()))
		}
		n, last = n+1, *b
	}
	if n < points || n > points+1 {
		e.t.Errorf("%d bins, not %d", n, points)
	}
}
