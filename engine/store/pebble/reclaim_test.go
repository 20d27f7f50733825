package pebble

import (
	"math/rand/v2"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// TestReclaimFreesRoom checks that Reclaim frees the disk space of dropped buckets without any
// other write, and keeps the other blocks.
func TestReclaimFreesRoom(t *testing.T) {
	s, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	checkReclaim(t, s, 50, 8<<10)
}

// TestLong_ReclaimFreesRoom is TestReclaimFreesRoom on disk, where Pebble keeps more logs. The
// archive is larger to match.
func TestLong_ReclaimFreesRoom(t *testing.T) { checkReclaim(t, openIn(t, t.TempDir()), 200, 32<<10) }

// checkReclaim fills twenty buckets with perDay blobs of the given size each, and drops half
// of the buckets.
func checkReclaim(t *testing.T, s *Store, perDay, blob int) {
	const days = 20
	bucket := func(day int) store.Bucket { return store.Day.Of(int64(day) * int64(24*time.Hour)) }
	rng := rand.NewChaCha8([32]byte{1})
	for day := range days {
		var blocks []store.Block
		for i := range uint32(perDay) {
			b := store.Block{BlockKey: store.BlockKey{PV: "A", Bucket: bucket(day), Start: bucket(day).Start() + int64(i), Writer: store.WriterID{1}, N: i}}
			b.End, b.Count, b.Type, b.Blob = b.Start, 1, sample.Float64, make([]byte, blob)
			_, _ = rng.Read(b.Blob) // it never fails
			blocks = append(blocks, b)
		}
		if err := s.PutBlocks(t.Context(), blocks...); err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 {
		n, err := s.Size(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	full, dropped := size(), int64(0)
	for day := range days / 2 {
		n, err := s.DropBucket(t.Context(), "A", bucket(day), time.Now().UnixNano())
		if err != nil {
			t.Fatal(err)
		}
		dropped += n
	}
	if dropped != int64(days/2*perDay*blob) {
		t.Errorf("%d bytes were dropped", dropped)
	}
	if err := s.Reclaim(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Pebble deletes obsolete files one after the other.
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); size() > full-dropped*7/10; <-tick.C { // logs occupy some of the space
		if time.Now().After(deadline) {
			t.Fatalf("of %d bytes %d were dropped, and the archive still has %d bytes", full, dropped, size())
		}
	}
	n := 0
	for day := range days {
		for _, err := range s.Blocks(t.Context(), "A", bucket(day), 0, bucket(day).End()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	if n != days/2*perDay {
		t.Errorf("%d blocks are left", n)
	}
}
