package pebble

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"varve.dev/varve/engine/store"
)

// roomWrites are the writes of a store by name. Each call changes the store. The n-th call of a test passes n.
type roomWrites map[string]func(ctx context.Context, n int) error

// newRows are the writes that add to the archive.
func newRows(s *Store) roomWrites {
	return roomWrites{
		"directory": func(ctx context.Context, _ int) error { return s.AddChannel(ctx, store.Channel{PV: "A"}) },
		"journal": func(ctx context.Context, n int) error {
			return s.PutJournal(ctx, store.JournalRow{Writer: store.WriterID{1}, At: store.At(uint32(n), 1)})
		},
		"block": func(ctx context.Context, _ int) error {
			return s.PutBlocks(ctx, store.Block{BlockKey: store.BlockKey{PV: "A", Bucket: store.Day.Of(0)}, Count: 1})
		},
	}
}

// freeing are the writes that free space: those of a sealer that takes over a shard, corrects the tiles of a PV,
// seals rows and deletes blocks, and those of the disk guard.
func freeing(s *Store) roomWrites {
	w := store.NewWriter()
	return roomWrites{
		"claim": func(ctx context.Context, n int) error {
			return s.PutClaim(ctx, store.Claim{Writer: w, Epoch: 1, Sealing: store.Term(n)})
		},
		"tile": func(ctx context.Context, n int) error {
			return s.PutRollups(ctx, store.Rollup{PV: "A", Level: store.LevelOf(10*time.Second, store.Forever), Tile: 1, Stamp: int64(n), Blob: []byte("bins")})
		},
		"sealed position": func(ctx context.Context, n int) error { return s.Seal(ctx, 0, w, store.At(uint32(n), 1)) },
		"deletion":        func(ctx context.Context, _ int) error { return s.Delete(ctx, "A") },
		"cutoff":          func(ctx context.Context, n int) error { return s.PutCutoff(ctx, store.Cutoff{Before: int64(n)}) },
		"progress": func(ctx context.Context, n int) error {
			return s.PutCutoffProgress(ctx, store.CutoffProgress{Cutoff: int64(n)})
		},
	}
}

// TestRowsAreRefusedBeforeTheDiskIsFull checks that the store refuses new rows while there is little free
// space, that it still accepts each write that a deletion needs, and that it accepts rows again afterwards.
func TestRowsAreRefusedBeforeTheDiskIsFull(t *testing.T) {
	s, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var disk vfs.DiskUsage
	s.usage = func() (vfs.DiskUsage, error) { return disk, nil }
	adds, frees := newRows(s), freeing(s)
	for n, c := range []struct {
		name         string
		total, free  uint64 // MiB
		added, freed bool
	}{
		{"enough", 10_000, 200, true, true},
		{"nearly full", 10_000, 120, false, true},
		{"full", 10_000, 10, false, false},
		{"enough again", 10_000, 129, true, true},
		{"small disk", 256, 40, true, true},
		{"small disk, nearly full", 256, 30, false, true},
		{"unknown", 0, 0, true, true},
	} {
		disk = vfs.DiskUsage{TotalBytes: c.total << 20, AvailBytes: c.free << 20}
		check := func(writes roomWrites, accepted bool) {
			for what, write := range writes {
				if err := write(t.Context(), n+1); (err == nil) != accepted || err != nil && !errors.Is(err, store.ErrDiskFull) {
					t.Errorf("%s, %s: %v", c.name, what, err)
				}
			}
		}
		check(adds, c.added)
		check(frees, c.freed)
	}
}
