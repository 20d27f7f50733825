package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/store"
)

// rollup returns a tile of a PV whose stamp is the current time.
func rollup(pv string, l store.Level, tile store.Tile) store.Rollup {
	return store.Rollup{
		PV: pv, Level: l, Tile: tile, Stamp: time.Now().Truncate(time.Microsecond).UnixNano(),
		Blob: fmt.Appendf(nil, "%s %v %d", pv, l, tile),
	}
}

func (s *suite) rollups(t *testing.T, pv string, l store.Level, first, last store.Tile) []store.Rollup {
	t.Helper()
	return collect(t, s.Rollups(t.Context(), pv, l, first, last))
}

// testRollups tests that two levels are separate even if they differ only in their width or
// only in their tier, and that tiles before 1970 come before the others.
func testRollups(t *testing.T, s *suite) {
	pv := s.pv("a")
	for _, l := range []store.Level{
		store.LevelOf(time.Second, store.Forever), store.LevelOf(time.Second, store.Keep10y), store.LevelOf(time.Minute, store.Forever),
	} {
		var all []store.Rollup
		for _, tile := range []store.Tile{-1025, -513, -257, -256, -2, -1, 0, 1, 255, 256, 257, 600, 1023} {
			all = append(all, rollup(pv, l, tile))
		}
		shuffled := slices.Clone(all)
		rand.Shuffle(len(all), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		must(t, s.PutRollups(t.Context(), shuffled...))
		must(t, s.PutRollups(t.Context(), shuffled[:3]...)) // repeated, as after an attempt without an answer
		for _, r := range [][2]int{{0, 12}, {0, 0}, {1, 6}, {3, 3}, {4, 6}, {5, 9}, {8, 9}, {10, 12}} {
			first, last := all[r[0]].Tile, all[r[1]].Tile
			equal(t, fmt.Sprintf("tiles %d to %d of %v", first, last, l), s.rollups(t, pv, l, first, last), all[r[0]:r[1]+1])
		}
		equal(t, "tiles between the stored ones", len(s.rollups(t, pv, l, 2, 254)), 0)
		equal(t, "tiles of another PV", len(s.rollups(t, s.pv("b"), l, -2000, 2000)), 0)
	}
	equal(t, "tiles of another level", len(s.rollups(t, pv, store.LevelOf(time.Second, store.Keep5y), -2000, 2000)), 0)
	for range s.Rollups(t.Context(), pv, store.LevelOf(time.Second, store.Forever), -2000, 2000) {
		break // stopping early does no harm
	}
}

// testRollupOrder tests that the write with the later stamp wins if a tile is written twice.
// The order of the writes and the order of their bytes do not matter, even within one call.
func testRollupOrder(t *testing.T, s *suite) {
	pv, l := s.pv("a"), store.LevelOf(time.Second, store.Keep1y)
	tile := l.Tile(time.Now().UnixNano())
	older := rollup(pv, l, tile)
	older.Blob = []byte("zzzz")
	newer := older
	newer.Stamp, newer.Blob = older.Stamp+1000, []byte("a")
	for what, writes := range map[string][][]store.Rollup{
		"in order":              {{older}, {newer}},
		"in the other":          {{newer}, {older}},
		"again and again":       {{older}, {newer}, {older}, {newer}, {older}},
		"at once":               {{older, newer}},
		"at once, in the other": {{newer, older}},
	} {
		newer.Tile++
		for _, rows := range writes {
			for i := range rows {
				rows[i].Tile = newer.Tile
			}
			must(t, s.PutRollups(t.Context(), rows...))
		}
		equal(t, "a tile written twice, "+what, s.rollups(t, pv, l, newer.Tile, newer.Tile), []store.Rollup{newer})
	}
}

func testRollupLimits(t *testing.T, s *suite) {
	l := store.LevelOf(time.Second, store.Forever)
	var want []store.Rollup
	for i, n := range []int{0, 1, 64 << 10, store.MaxRollup} {
		r := rollup(s.pv("a"), l, store.Tile(i))
		r.Blob = pattern(n, byte(i))
		want = append(want, r)
	}
	must(t, s.PutRollups(t.Context(), want...))
	must(t, s.PutRollups(t.Context()))
	equal(t, "tiles of all sizes", s.rollups(t, s.pv("a"), l, 0, 9), want)
	large := rollup(s.pv("a"), l, 9)
	large.Blob = bytes.Repeat([]byte{1}, store.MaxRollup+1)
	if err := s.PutRollups(t.Context(), large); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a write of a rollup larger than MaxRollup returns %v", err)
	}
	unknown := rollup(s.pv("a"), l|15, 9)
	if err := s.PutRollups(t.Context(), unknown); !errors.Is(err, store.ErrNoTier) {
		t.Errorf("a write of a rollup on an unknown tier returns %v", err)
	}
}
