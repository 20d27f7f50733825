package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/store"
)

// sizes returns the blob sizes around every limit at which a store may change how it stores a
// blob.
func sizes() []int {
	all := []int{0, 1}
	for _, border := range []int{64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20} {
		all = append(all, border-1, border, border+1)
	}
	return append(all, 1600<<10)
}

// pattern returns n bytes that depend on their index and on the seed. A comparison therefore
// detects a part in the wrong place or of another blob.
func pattern(n int, seed byte) []byte {
	// No size of a part is a multiple of this prime number, so parts differ. Only this period
	// is computed byte by byte, because that is slow with the race detector.
	period := make([]byte, min(n, 4093))
	for i := range period {
		period[i] = byte(i) ^ byte(i>>8)*31 ^ seed
	}
	if n <= len(period) {
		return period
	}
	return bytes.Repeat(period, n/len(period)+1)[:n:n]
}

// manyParts is the size of a large blob that a store reads in several requests.
const manyParts = 5 << 20

func testLargeRows(t *testing.T, s *suite) { checkLargeRows(t, s, manyParts) }

func checkLargeRows(t *testing.T, s *suite, largest int) {
	t.Helper()
	shard, w := s.shard(), newWriter()
	var want []store.JournalRow
	for i, n := range append(sizes(), largest) {
		r := row(shard, w, store.At(1+uint32(i)/7, 1+uint32(i)%7), fmt.Sprint(n))
		r.Blob = pattern(n, byte(i))
		want = append(want, r)
		must(t, s.PutJournal(t.Context(), r))
	}
	equal(t, "rows of all sizes", s.journal(t, shard, w, 0), want)
	for _, r := range want[10:14] { // repeated, as after an attempt without an answer
		must(t, s.PutJournal(t.Context(), r))
	}
	equal(t, "rows written twice", s.journal(t, shard, w, want[3].At), want[4:])
}

func testLargeBlocks(t *testing.T, s *suite) { checkLargeBlocks(t, s, manyParts) }

func checkLargeBlocks(t *testing.T, s *suite, largest int) {
	t.Helper()
	pv, w := s.pv("a"), newWriter()
	var all []store.Block
	for i, n := range append(sizes(), largest) {
		b := block(pv, w, uint32(i+1), int64(i)*10, int64(i)*10+9)
		b.Blob = pattern(n, byte(i))
		all = append(all, b)
	}
	must(t, s.PutBlocks(t.Context(), all...))
	must(t, s.PutBlocks(t.Context(), all[5:9]...))
	equal(t, "blocks of all sizes", s.blocks(t, pv, all[0].Bucket, 0, 1e6), all)
	equal(t, "some blocks", s.blocks(t, pv, all[0].Bucket, 105, 165), all[10:17])
	for _, b := range all[8:12] {
		equal(t, fmt.Sprint("the last block at ", b.Start), s.last(t, pv, b.Bucket, b.Start), []store.Block{b})
	}
}

// testLargeBlockIsWrittenAgain tests that a block may be written again larger or smaller, even
// if it is already large.
func testLargeBlockIsWrittenAgain(t *testing.T, s *suite) {
	b := block(s.pv("a"), newWriter(), 1, 100, 200)
	ns := sizes()
	for i, n := range append(slices.Clone(ns), ns[3], ns[len(ns)-2], 600<<10, 0) {
		b.Blob, b.End = pattern(n, byte(i)), b.End+1
		must(t, s.PutBlocks(t.Context(), b))
		equal(t, fmt.Sprintf("a block written again with %d bytes", n), s.blocks(t, b.PV, b.Bucket, 0, 1e6), []store.Block{b})
	}
}

// testLargeBlockIsWhole writes a large block again and again. Its readers always see exactly
// one version, and never an older one than before.
func testLargeBlockIsWhole(t *testing.T, s *suite) {
	const versions = 12
	b := block(s.pv("a"), newWriter(), 1, 100, 1000)
	version := func(i int) store.Block {
		v := b
		v.Count, v.Blob = i, bytes.Repeat([]byte{byte(i)}, 200<<10+i*80<<10)
		return v
	}
	must(t, s.PutBlocks(t.Context(), version(0)))
	g, ctx := errgroup.WithContext(t.Context())
	written := make(chan struct{})
	g.Go(func() error {
		defer close(written)
		for i := 1; i <= versions; i++ {
			if err := s.PutBlocks(ctx, version(i)); err != nil {
				return err
			}
		}
		return nil
	})
	for range 2 {
		g.Go(func() error {
			for latest := 0; ; {
				over := false
				select {
				case <-written:
					over = true
				default:
				}
				for got, err := range s.Blocks(ctx, b.PV, b.Bucket, 0, 1e6) {
					if want := version(got.Count); err != nil || got.Count < latest || !bytes.Equal(got.Blob, want.Blob) {
						return fmt.Errorf("version %d, read after version %d, has %d bytes, want %d: %w", got.Count, latest, len(got.Blob), len(want.Blob), err)
					}
					latest = got.Count
				}
				if over {
					return nil
				}
			}
		})
	}
	must(t, g.Wait())
	equal(t, "the last version", s.blocks(t, b.PV, b.Bucket, 0, 1e6), []store.Block{version(versions)})
}

// testLargeBlocksAreDeleted deletes large blocks while a reader reads them. At any moment the
// reader sees a whole block or none.
func testLargeBlocksAreDeleted(t *testing.T, s *suite) {
	pv := s.pv("a")
	must(t, s.AddChannel(t.Context(), store.Channel{PV: pv, Starts: []store.Bucket{store.Day.Of(0)}}))
	for round := range 3 {
		w := newWriter()
		var all []store.Block
		for i := range 4 {
			b := block(pv, w, uint32(i+1), int64(i)*10, int64(i)*10+9)
			b.Blob = pattern(600<<10, byte(round))
			all = append(all, b)
		}
		must(t, s.PutBlocks(t.Context(), all...))
		must(t, s.AddChannel(t.Context(), store.Channel{PV: pv, Starts: []store.Bucket{store.Day.Of(0)}}))
		g, ctx := errgroup.WithContext(t.Context())
		g.Go(func() error { return s.Delete(ctx, pv) })
		g.Go(func() error {
			for got, err := range s.Blocks(ctx, pv, store.Day.Of(0), 0, 1e6) {
				if err != nil || !bytes.Equal(got.Blob, all[0].Blob) {
					return fmt.Errorf("a read during the deletion returns a block of %d bytes: %w", len(got.Blob), err)
				}
			}
			return nil
		})
		must(t, g.Wait())
		equal(t, "blocks after the deletion", len(s.blocks(t, pv, store.Day.Of(0), 0, 1e6)), 0)
	}
}

// testLargeWritesBrokenOff tests that an interrupted write leaves the row unchanged or
// complete.
func testLargeWritesBrokenOff(t *testing.T, s *suite) {
	shard, w := s.shard(), newWriter()
	b := block(s.pv("a"), w, 1, 10, 20)
	b.Blob = pattern(700<<10, 1)
	must(t, s.PutBlocks(t.Context(), b))
	before, later := b, b
	later.Count, later.Blob = 99, pattern(2<<20, 2)
	r := row(shard, w, store.At(1, 1), "a")
	r.Blob = pattern(2<<20, 3)
	for i := range 8 {
		breakOff(t, s, shard, i*200,
			func(ctx context.Context) { _ = s.PutBlocks(ctx, later) }, // its outcome is unknown
			func(ctx context.Context) { _ = s.PutJournal(ctx, r) })
		if got := s.blocks(t, b.PV, b.Bucket, 0, 100); len(got) != 1 || got[0].Count == before.Count {
			equal(t, "the block before", got, []store.Block{before})
		} else {
			equal(t, "the later block", got, []store.Block{later})
		}
		if got := s.journal(t, shard, w, 0); len(got) > 0 {
			equal(t, "the row", got, []store.JournalRow{r})
		}
	}
	must(t, s.PutBlocks(t.Context(), later))
	must(t, s.PutJournal(t.Context(), r))
	equal(t, "the block at the end", s.blocks(t, b.PV, b.Bucket, 0, 100), []store.Block{later})
	equal(t, "the row at the end", s.journal(t, shard, w, 0), []store.JournalRow{r})
}

// breakOff starts writes and interrupts those that have not ended after a number of other
// requests. Each request lets some time of the store's clock pass.
func breakOff(t *testing.T, s *suite, shard, requests int, writes ...func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, write := range writes {
		wg.Go(func() { write(ctx) })
	}
	ended := make(chan struct{})
	go func() { defer close(ended); wg.Wait() }()
	defer func() { cancel(); <-ended }()
	for range requests {
		select {
		case <-ended:
			return
		default:
		}
		if _, err := s.Claims(t.Context(), shard); err != nil {
			t.Error(err)
		}
	}
}
