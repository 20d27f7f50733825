package pebble_test

import (
	"crypto/rand"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// BenchmarkPutJournal writes rows of many shards, 16 rows at a time, so that rows can share an
// fsync.
func BenchmarkPutJournal(b *testing.B) {
	for _, kib := range []int{64, 256} {
		b.Run(fmt.Sprintf("%dKiB", kib), func(b *testing.B) {
			st := open(b, b.TempDir(), pebble.Options{})
			defer st.Close()
			blob := make([]byte, kib<<10)
			_, _ = rand.Read(blob)
			b.SetBytes(int64(len(blob)))
			var g errgroup.Group
			g.SetLimit(16)
			for i := range b.N {
				g.Go(func() error {
					return st.PutJournal(b.Context(), store.JournalRow{Shard: i % 64, At: store.At(1, uint32(i+1)), Blob: blob})
				})
			}
			if err := g.Wait(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkPutBlocks writes one block of 8 KiB for each of 64 PVs, as a sealer does.
func BenchmarkPutBlocks(b *testing.B) {
	st := open(b, b.TempDir(), pebble.Options{})
	defer st.Close()
	blob := make([]byte, 8<<10)
	_, _ = rand.Read(blob)
	blocks := make([]store.Block, 64)
	for i := range blocks {
		blocks[i] = store.Block{BlockKey: store.BlockKey{PV: fmt.Sprint("BENCH:", i)}, Blob: blob}
	}
	b.SetBytes(int64(len(blocks) * len(blob)))
	for b.Loop() {
		for i := range blocks {
			blocks[i].Start++
		}
		if err := st.PutBlocks(b.Context(), blocks...); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBlocks reads from a bucket of 3000 blocks, 24 MiB.
func BenchmarkBlocks(b *testing.B) {
	st := open(b, b.TempDir(), pebble.Options{})
	defer st.Close()
	blob := make([]byte, 8<<10)
	_, _ = rand.Read(blob)
	for i := range int64(3000) {
		blk := store.Block{BlockKey: store.BlockKey{PV: "BENCH", Start: i * 1000}, End: i*1000 + 999, Blob: blob}
		if err := st.PutBlocks(b.Context(), blk); err != nil {
			b.Fatal(err)
		}
	}
	for name, want := range map[string]int{"all": 3000, "ten": 10} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(want * len(blob)))
			for b.Loop() {
				got := 0
				for _, err := range st.Blocks(b.Context(), "BENCH", 0, 0, int64(want)*1000-1) {
					if err != nil {
						b.Fatal(err)
					}
					got++
				}
				if got != want {
					b.Fatalf("%d blocks, not %d", got, want)
				}
			}
		})
	}
}
