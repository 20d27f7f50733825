package storetest

import (
	"fmt"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// crowdLevels are levels whose tiles span from about an hour to years.
var crowdLevels = []store.Level{
	store.LevelOf(10*time.Second, store.Forever), store.LevelOf(time.Hour, store.Keep10y), store.LevelOf(24*time.Hour, store.Keep2y),
}

// crowd writes a PV with blocks in buckets of all sizes, on tiers on which they have not
// expired, and with rollups of the same times. Each size has two buckets: the bucket that the
// directory lists, and the last bucket of its span. crowd returns the buckets.
func crowd(t *testing.T, s *suite, pv string, n uint32) (buckets []store.Bucket) {
	t.Helper()
	w := newWriter()
	var blocks []store.Block
	entry := store.Channel{PV: pv, Shards: []int{1}, Types: []sample.Type{sample.Float64}, Levels: crowdLevels}
	now := time.Now().UnixNano()
	var tiles []store.Rollup
	for size := store.Hour; size.Valid(); size++ {
		first := size.Of(now).In([]store.Tier{store.Forever, store.Keep1y, store.Keep10y, store.Forever}[size])
		entry.Starts = append(entry.Starts, first)
		for _, b := range []store.Bucket{first, first.Span().Last()} {
			buckets = append(buckets, b)
			for i := range uint32(2) {
				blk := block(pv, w, n+i, b.Start()+int64(i), b.Start()+int64(time.Minute)*int64(n))
				blk.Bucket = b
				blocks = append(blocks, blk)
			}
			for _, l := range crowdLevels {
				tiles = append(tiles, rollup(pv, l, l.Tile(b.Start())), rollup(pv, l, l.Tile(b.End()-1)))
			}
		}
	}
	must(t, s.AddChannel(t.Context(), entry))
	must(t, s.PutBlocks(t.Context(), blocks...))
	must(t, s.PutRollups(t.Context(), tiles...))
	for year := 2018; year < 2022; year++ {
		must(t, s.PutMarks(t.Context(), mark(pv, w, nanos(year), sample.Connected), mark(pv, w, nanos(year), sample.Lost)))
		must(t, s.PutMetadata(t.Context(), store.PVMetadata{PV: pv, Time: nanos(year), Metadata: sample.Metadata{Units: "mA"}}))
	}
	return buckets
}

// left returns the number of rows of a PV in the store.
func left(t *testing.T, s *suite, pv string, buckets []store.Bucket) (n int) {
	t.Helper()
	for _, b := range buckets {
		n += len(s.blocks(t, pv, b, b.Start(), b.End())) + len(s.last(t, pv, b, b.End()))
	}
	for _, l := range crowdLevels {
		n += len(s.rollups(t, pv, l, l.Tile(buckets[0].Start()), l.Tile(buckets[len(buckets)-1].End())))
	}
	n += len(s.channel(t, pv)) + len(s.marks(t, pv, 0, nanos(2100))) + len(s.metadata(t, pv, nanos(2100)))
	for c, err := range s.Channels(t.Context()) {
		must(t, err)
		if c.PV == pv {
			n++
		}
	}
	return n
}

func testDelete(t *testing.T, s *suite) {
	pv, longer, shorter := s.pv("ab"), s.pv("abc"), s.pv("a")
	shard, w := s.shard(), newWriter()
	must(t, s.PutJournal(t.Context(), row(shard, w, store.At(1, 1), pv)))
	must(t, s.Delete(t.Context(), s.pv("nothing")))
	buckets := crowd(t, s, pv, 30)
	crowd(t, s, longer, 30)
	crowd(t, s, shorter, 30)
	all := left(t, s, pv, buckets)

	for range 2 { // repeated, as after a crash
		must(t, s.Delete(t.Context(), pv))
		equal(t, "rows of the deleted PV", left(t, s, pv, buckets), 0)
	}
	for _, other := range []string{longer, shorter} {
		equal(t, "rows of "+other, left(t, s, other, buckets), all)
	}
	equal(t, "rows of the journal", len(s.journal(t, shard, w, 0)), 1)

	// The PV begins again in the same buckets, with shorter blocks.
	crowd(t, s, pv, 10)
	equal(t, "rows of the PV after it was written again", left(t, s, pv, buckets), all)
	for _, b := range buckets {
		at := b.Start() + int64(9*time.Minute)
		equal(t, fmt.Sprint("blocks that reach into a time in bucket ", b), len(s.blocks(t, pv, b, at, at)), 2)
	}
	must(t, s.Delete(t.Context(), pv))
	equal(t, "rows of the PV after it was deleted again", left(t, s, pv, buckets), 0)
}
