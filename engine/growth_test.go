package engine

import (
	"fmt"
	"math"
	"testing"
	"time"

	"varve.dev/varve/engine/growth"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// TestLong_ForecastOfAnEngine compares a forecast after four days with what an engine has stored after twelve days, when
// retention has deleted samples.
func TestLong_ForecastOfAnEngine(t *testing.T) {
	t.Parallel() // it has its own clock
	keep := store.Retention{Raw: store.Keep7d, Levels: [store.MaxLevels]store.Level{
		store.LevelOf(5*time.Minute, store.Keep30d), store.LevelOf(time.Hour, store.Forever),
	}}
	inEra(t, keep, func(t *testing.T, e *era) {
		n := 0
		capture := func(length time.Duration) {
			for range length / time.Minute {
				n++
				e.send(time.Now(), math.Round(1000*math.Sin(float64(n*n)))/1000+2)
				testclock.Advance(time.Minute)
			}
		}
		stored := func() map[string]float64 {
			out := map[string]float64{}
			now := time.Now().UnixNano()
			entry, _, err := e.st.Channel(t.Context(), "A")
			if err != nil {
				t.Fatal(err)
			}
			for b := range store.InUse(entry.Starts, now, now) {
				for blk, err := range e.st.Blocks(t.Context(), "A", b, math.MinInt64, math.MaxInt64) {
					if err != nil {
						t.Fatal(err)
					}
					out[fmt.Sprint(store.SampleContents, " ", b.Tier())] += float64(len(blk.Blob))
				}
			}
			for _, l := range entry.Levels {
				for row, err := range e.st.Rollups(t.Context(), "A", l, l.Tile(now-int64(40*days)), l.Tile(now)) {
					if err != nil {
						t.Fatal(err)
					}
					out[fmt.Sprint(store.RollupContents, " ", l.Tier())] += float64(len(row.Blob))
				}
			}
			return out
		}
		capture(4 * days)
		m, err := growth.Measure(t.Context(), e.st, "A", time.Now().UnixNano(), 20*time.Minute)
		if err != nil || m.Span() < 23*time.Hour || math.Abs(m.PerSecond()*60-1) > 0.02 {
			t.Fatalf("measured %+v over %v, %v", m, m.Span(), err)
		}
		capture(8 * days)
		got := stored()
		if len(got) != 3 || len(m.Streams) != 3 {
			t.Errorf("stored %v, forecast %+v", got, m.Streams)
		}
		for _, s := range m.Streams {
			part := fmt.Sprint(s.Contents, " ", s.Tier)
			forecast := s.At(8 * days)
			t.Logf("%s: forecast %.0f bytes, stored %.0f: %+.1f %%", part, forecast, got[part], 100*(forecast/got[part]-1))
			if math.Abs(forecast-got[part]) > 0.1*got[part] {
				t.Errorf("%s: the forecast is %.0f bytes, and %.0f are stored", part, forecast, got[part])
			}
		}
	})
}
