package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// block returns a block of a PV. Its bucket is the day that contains its start.
func block(pv string, w store.WriterID, n uint32, start, end int64) store.Block {
	return store.Block{
		BlockKey: store.BlockKey{PV: pv, Bucket: store.Day.Of(start), Start: start, Writer: w, N: n},
		End:      end, Count: int(n) + 1, Type: sample.Float64, Min: -1, Max: 2, Sum: 0.5,
		Blob: fmt.Appendf(nil, "%s %d %d %d", pv, n, start, end),
	}
}

func (s *suite) blocks(t *testing.T, pv string, b store.Bucket, from, to int64) []store.Block {
	t.Helper()
	return collect(t, s.Blocks(t.Context(), pv, b, from, to))
}

func testBlocksOverlap(t *testing.T, s *suite) {
	pv, w := s.pv("a"), newWriter()
	all := []store.Block{
		block(pv, w, 1, 100, 900), block(pv, w, 2, 200, 250), block(pv, w, 3, 300, 300), block(pv, w, 4, 400, 500),
	}
	must(t, s.PutBlocks(t.Context(), all...))
	must(t, s.PutBlocks(t.Context(), block(pv, w, 5, store.Day.Of(0).End(), store.Day.Of(0).End())))
	for _, test := range []struct {
		from, to int64
		want     []store.Block
	}{
		{0, 99, nil}, {0, 100, all[:1]}, {900, 1000, all[:1]}, {901, 1000, nil},
		{250, 299, all[:2]}, {251, 299, all[:1]}, {300, 300, []store.Block{all[0], all[2]}},
		{350, 450, []store.Block{all[0], all[3]}}, {math.MinInt64, math.MaxInt64, all}, {500, 400, nil},
	} {
		got := s.blocks(t, pv, store.Day.Of(0), test.from, test.to)
		if test.from > test.to {
			continue // the range is empty: the read must not fail, but its result does not matter
		}
		equal(t, fmt.Sprintf("blocks in [%d, %d]", test.from, test.to), got, test.want)
	}
	equal(t, "blocks of another bucket", len(s.blocks(t, pv, store.Hour.Of(0), 0, 1000)), 0)
	equal(t, "blocks of another PV", len(s.blocks(t, s.pv("b"), store.Day.Of(0), 0, 1000)), 0)
}

func testBlocksOrder(t *testing.T, s *suite) {
	pv := s.pv("a")
	low, high := store.WriterID{1}, store.WriterID{0xf0, 0, 1}
	want := []store.Block{
		block(pv, high, 9, 10, 20), block(pv, low, 2, 11, 20), block(pv, low, 10, 11, 12),
		block(pv, high, 1, 11, 11), block(pv, low, 1, 12, 30),
	}
	shuffled := slices.Clone(want)
	slices.Reverse(shuffled)
	must(t, s.PutBlocks(t.Context(), shuffled...))
	equal(t, "blocks", s.blocks(t, pv, store.Day.Of(0), 0, 100), want)
}

func testBlockFields(t *testing.T, s *suite) {
	pv, w := s.pv("a"), newWriter()
	first, second := block(pv, w, math.MaxInt32, 5, 6), block(pv, w, 2, 7, 8)
	first.Count, first.Type, first.Min, first.Max, first.Sum = 0, sample.Enum.Array(), math.NaN(), math.NaN(), math.NaN()
	second.Count, second.Type, second.Min, second.Max, second.Sum = 1<<30, sample.Bool, math.Inf(-1), math.Inf(1), math.SmallestNonzeroFloat64
	second.Blob = nil
	must(t, s.PutBlocks(t.Context(), first, second))
	must(t, s.PutBlocks(t.Context()))
	equal(t, "blocks", s.blocks(t, pv, first.Bucket, 0, 100), []store.Block{first, second})
}

func testBlockGrows(t *testing.T, s *suite) {
	b := block(s.pv("a"), newWriter(), 1, 100, 200)
	must(t, s.PutBlocks(t.Context(), b))
	for range 10 {
		b.End += 100
		b.Count++
		b.Blob = append(b.Blob, "more"...)
		must(t, s.PutBlocks(t.Context(), b))
		equal(t, "a block that grew", s.blocks(t, b.PV, b.Bucket, b.End, b.End), []store.Block{b})
	}
	// The last write counts: it replaces a larger blob by a smaller one.
	b.Blob = []byte("less")
	must(t, s.PutBlocks(t.Context(), b))
	equal(t, "a block that was written again", s.blocks(t, b.PV, b.Bucket, 0, 1e6), []store.Block{b})
}

func testBlocksManyAndLarge(t *testing.T, s *suite) {
	pv, w := s.pv("a"), newWriter()
	var all []store.Block
	for i := range uint32(120) {
		b := block(pv, w, i+1, int64(i)*10, int64(i)*10+9)
		b.Blob = bytes.Repeat([]byte{byte(i)}, 64<<10)
		all = append(all, b)
	}
	all[60].Blob = bytes.Repeat([]byte{1}, 1<<20)
	all[3].End = 700 // the test does not read the blocks next to it
	must(t, s.PutBlocks(t.Context(), all...))
	equal(t, "all blocks", s.blocks(t, pv, all[0].Bucket, 0, 1e6), all)
	equal(t, "some blocks", s.blocks(t, pv, all[0].Bucket, 605, 800), slices.Concat(all[3:4], all[60:81]))
}

func (s *suite) last(t *testing.T, pv string, b store.Bucket, at int64) []store.Block {
	t.Helper()
	blk, found, err := s.LastBlock(t.Context(), pv, b, at)
	must(t, err)
	if !found {
		return nil
	}
	return []store.Block{blk}
}

func testLastBlock(t *testing.T, s *suite) {
	pv, w := s.pv("a"), newWriter()
	all := []store.Block{block(pv, w, 1, 100, 200), block(pv, w, 2, 300, 900), block(pv, w, 3, 500, 600), block(pv, w, 4, 1000, 1100)}
	must(t, s.PutBlocks(t.Context(), all...))
	bucket := store.Day.Of(0)
	for _, test := range []struct {
		at   int64
		want []store.Block
	}{
		{99, nil}, {100, all[:1]}, {299, all[:1]}, {300, all[1:2]}, {999, all[1:2]}, {1000, all[3:]}, {math.MaxInt64, all[3:]},
	} {
		equal(t, fmt.Sprintf("last block at %d", test.at), s.last(t, pv, bucket, test.at), test.want)
	}
	equal(t, "last block of another PV", len(s.last(t, s.pv("b"), bucket, 1e9)), 0)
	equal(t, "last block of another bucket", len(s.last(t, pv, bucket.Next(), math.MaxInt64)), 0)
}

// testCarriedForwardBlock tests a bucket that begins with a copy of the last sample before it.
// The block of the copy ends before the bucket starts.
func testCarriedForwardBlock(t *testing.T, s *suite) {
	pv, w := s.pv("a"), newWriter()
	bucket := store.Day.Of(0).Next()
	carriedForward := block(pv, w, 1, bucket.Start(), 5)
	carriedForward.Count = 0
	later := block(pv, w, 2, bucket.Start()+100, bucket.Start()+200)
	must(t, s.PutBlocks(t.Context(), carriedForward, later))
	equal(t, "blocks", s.blocks(t, pv, bucket, bucket.Start(), bucket.End()), []store.Block{later})
	equal(t, "last block before the first sample", s.last(t, pv, bucket, bucket.Start()+99), []store.Block{carriedForward})
	equal(t, "last block at the first sample", s.last(t, pv, bucket, bucket.Start()+100), []store.Block{later})
}

func testBlockTimes(t *testing.T, s *suite) {
	pv, w := s.pv("a"), newWriter()
	for i, year := range []int{1901, 1950, 1969, 1970, 1990, 2026, 2038, 2039, 2106, 2200} {
		start := nanos(year)
		for size := store.Hour; size.Valid(); size++ {
			b := block(pv, w, uint32(i+1), start, start+1)
			b.Bucket = size.Of(start)
			must(t, s.PutBlocks(t.Context(), b))
			equal(t, fmt.Sprint("blocks of ", year), s.blocks(t, pv, b.Bucket, start+1, start+1), []store.Block{b})
			equal(t, fmt.Sprint("last block of ", year), s.last(t, pv, b.Bucket, start), []store.Block{b})
			equal(t, fmt.Sprint("blocks before ", year), len(s.blocks(t, pv, b.Bucket, start-9, start-1)), 0)
		}
	}
}

func testBlockTooLarge(t *testing.T, s *suite) {
	small, large := block(s.pv("a"), newWriter(), 1, 1, 2), block(s.pv("a"), newWriter(), 2, 1, 2)
	large.Blob = make([]byte, store.MaxBlob+1)
	if err := s.PutBlocks(t.Context(), small, large); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a write of a block larger than MaxBlob returns %v", err)
	}
}
