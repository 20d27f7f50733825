package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// on returns a block in a bucket of the given size and tier. The bucket contains the block's
// start.
func on(r store.Tier, size store.BucketSize, pv string, w store.WriterID, n uint32, start int64) store.Block {
	b := block(pv, w, n, start, start+1000)
	b.Bucket = size.Of(start).In(r)
	return b
}

// testTiers tests that blocks are separate if their keys differ only in the tier. Some blocks
// are small, and some are large.
func testTiers(t *testing.T, s *suite) {
	tiers, err := s.Tiers(t.Context())
	must(t, err)
	equal(t, "number of tiers", len(tiers), store.NumTiers)
	pv, w, now := s.pv("a"), newWriter(), time.Now().UnixNano()
	var all []store.Block
	for _, r := range tiers {
		small, large := on(r, r.Longest(), pv, w, 1, now), on(r, r.Longest(), pv, w, 2, now+1)
		small.Count, large.Count, large.Blob = 10+int(r), 100+int(r), pattern(600<<10, byte(r))
		late := on(r, store.Hour, pv, w, 3, nanos(1969)) // expired before it was written
		all = append(all, small, large)
		must(t, s.PutBlocks(t.Context(), small, large, late))
		must(t, s.PutBlocks(t.Context(), small, large))
	}
	for i, r := range tiers {
		b := all[2*i].Bucket
		equal(t, fmt.Sprint("blocks on tier ", r), s.blocks(t, pv, b, now+1000, now+1001), all[2*i:2*i+2])
		equal(t, fmt.Sprint("last block on tier ", r), s.last(t, pv, b, now+5), all[2*i+1:2*i+2])
		equal(t, fmt.Sprint("blocks of another bucket on tier ", r), len(s.blocks(t, pv, b.Next(), now, now+1000)), 0)
	}
	none := on(15, store.Hour, pv, w, 1, now)
	if err := s.PutBlocks(t.Context(), none); !errors.Is(err, store.ErrNoTier) {
		t.Errorf("a write of a block on an unknown tier returns %v", err)
	}
	equal(t, "blocks on an unknown tier", len(s.blocks(t, pv, none.Bucket, now, now)), 0)
}

// testDropBucket drops a bucket with large blocks. The same bucket of other tiers stays, and
// the dropped bucket can be filled again.
func testDropBucket(t *testing.T, s *suite) {
	pv, w, now := s.pv("a"), newWriter(), time.Now().UnixNano()
	small, large := on(store.Keep90d, store.Day, pv, w, 1, now), on(store.Keep90d, store.Day, pv, w, 2, now+1)
	large.Blob = pattern(700<<10, 1)
	kept := []store.Block{
		on(store.Keep1y, store.Day, pv, w, 1, now), on(store.Keep90d, store.Hour, pv, w, 1, now), on(store.Keep90d, store.Day, s.pv("b"), w, 1, now),
		on(store.Keep90d, store.Day, pv, w, 1, small.Bucket.End()),
	}
	write := func() { must(t, s.PutBlocks(t.Context(), append([]store.Block{small, large}, kept...)...)) }
	equal(t, "bytes of an empty bucket", s.drop(t, pv, small.Bucket, s.soon()), int64(0))
	for range 2 {
		write()
		equal(t, "blocks", s.blocks(t, pv, small.Bucket, now, now+2000), []store.Block{small, large})
		for again := range 2 { // repeated, as after a crash
			bytes := s.drop(t, pv, small.Bucket, s.soon())
			if least := int64(len(small.Blob) + len(large.Blob)); again == 0 && bytes < least || again == 1 && bytes != 0 {
				t.Errorf("dropping at least %d bytes, call %d, returns %d", least, again, bytes)
			}
			equal(t, "blocks of a dropped bucket", len(s.blocks(t, pv, small.Bucket, 0, now+2000)), 0)
			equal(t, "last block of a dropped bucket", len(s.last(t, pv, small.Bucket, now+2000)), 0)
		}
		for _, b := range kept {
			equal(t, "blocks of another bucket", s.blocks(t, b.PV, b.Bucket, b.Start, b.End), []store.Block{b})
		}
	}
	equal(t, "bytes on an unknown tier", s.drop(t, pv, small.Bucket.In(15), s.soon()), int64(0))
}

func (s *suite) drop(t *testing.T, pv string, b store.Bucket, before int64) int64 {
	t.Helper()
	bytes, err := s.DropBucket(t.Context(), pv, b, before)
	must(t, err)
	return bytes
}

// soon returns a time by the clocks of the store, after all earlier writes and before all later
// ones. It waits until that time has passed, because stores may count whole microseconds.
func (s *suite) soon() int64 {
	now := func() int64 { return time.Now().UnixMicro() }
	if st, has := s.Store.(clock.Store); has {
		now = func() int64 { return st.Now() / 1000 }
	}
	at := now() + 1
	for now() <= at {
		continue
	}
	return at * 1000
}

// testDropBucketKeepsYounger tests that DropBucket keeps all blocks that were written after
// the given time: new blocks and blocks that grew, small or large, regardless of the order in
// which the write and the deletion arrive.
func testDropBucketKeepsYounger(t *testing.T, s *suite) {
	for i, b := range []store.Bucket{store.Day.Of(nanos(2026)), store.Hour.Of(time.Now().UnixNano()).In(store.Keep30d)} {
		pv, w := s.pv(fmt.Sprint("a", i)), newWriter()
		at := func(n uint32, blob []byte) store.Block {
			blk := block(pv, w, n, b.Start()+int64(n), b.Start()+1000)
			blk.Bucket, blk.Blob = b, blob
			return blk
		}
		old, oldLarge := at(1, []byte("old")), at(2, pattern(600<<10, 1))
		grows, growsLarge, becomesLarge := at(3, []byte("gr")), at(4, pattern(700<<10, 2)), at(5, []byte("la"))
		must(t, s.PutBlocks(t.Context(), old, oldLarge, grows, growsLarge, becomesLarge))
		looked := s.soon()
		grows.Blob, growsLarge.Blob, becomesLarge.Blob = []byte("grown"), pattern(800<<10, 3), pattern(500<<10, 4)
		younger := []store.Block{grows, growsLarge, becomesLarge, at(6, []byte("new")), at(7, pattern(600<<10, 5))}
		must(t, s.PutBlocks(t.Context(), younger...))
		for again := range 2 {
			if bytes := s.drop(t, pv, b, looked); (bytes >= 600<<10) != (again == 0) {
				t.Errorf("dropping the older blocks, call %d, returns %d bytes", again, bytes)
			}
			equal(t, "younger blocks", s.blocks(t, pv, b, b.Start(), b.End()), younger)
		}
		s.drop(t, pv, b, s.soon())
		equal(t, "blocks after all were dropped", len(s.blocks(t, pv, b, b.Start(), b.End())), 0)
		// The deletion has an earlier time than a write, but arrives later.
		must(t, s.PutBlocks(t.Context(), younger...))
		s.drop(t, pv, b, looked)
		equal(t, "blocks that were written again", s.blocks(t, pv, b, b.Start(), b.End()), younger)
	}
}

// testExpire tests that Expire keeps rows that have not expired. The store decides what
// happens to expired rows.
func testExpire(t *testing.T, s *suite) {
	pv, w, now := s.pv("a"), newWriter(), time.Now().UnixNano()
	var kept []store.Block
	entry := store.Channel{PV: pv, Types: []sample.Type{sample.Float64}}
	var tiles []store.Rollup
	for r := range store.Tier(store.NumTiers) {
		for size := store.Hour; size <= r.Longest(); size++ {
			b := on(r, size, pv, w, 1, now)
			b.Start, b.End = b.Bucket.Start(), b.Bucket.Start()+1000
			kept, entry.Starts = append(kept, b), append(entry.Starts, b.Bucket)
		}
		l := store.LevelOf(time.Second, r)
		tiles, entry.Levels = append(tiles, rollup(pv, l, l.Tile(now))), append(entry.Levels, l)
	}
	must(t, s.AddChannel(t.Context(), entry))
	must(t, s.PutBlocks(t.Context(), kept...))
	must(t, s.PutRollups(t.Context(), tiles...))
	must(t, s.Expire(t.Context(), now))
	for _, b := range kept {
		equal(t, fmt.Sprintf("blocks of a %v on tier %v", b.Bucket.Size(), b.Bucket.Tier()), s.blocks(t, pv, b.Bucket, b.Start, b.End), []store.Block{b})
	}
	for _, r := range tiles {
		equal(t, fmt.Sprintf("tiles of level %v", r.Level), s.rollups(t, pv, r.Level, r.Tile, r.Tile), []store.Rollup{r})
	}
}
