package pebble

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// tableOfBlocks returns the files of an archive with a block of each of some PVs, which is in a sorted file.
func tableOfBlocks(t *testing.T, pvs []string) (files map[string][]byte, table string, blocks []store.Block) {
	t.Helper()
	fs := vfs.NewMem()
	s := openStore(t, fs)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, pv := range pvs {
		blob := make([]byte, 6000) // more than a block of Pebble
		for i := range blob {
			blob[i] = byte(rng.Uint32())
		}
		blocks = append(blocks, store.Block{BlockKey: store.BlockKey{PV: pv, Bucket: store.Day.Of(0)}, Type: sample.Float64, Count: 1, Blob: blob})
	}
	if err := s.PutBlocks(t.Context(), blocks...); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	return readAll(t, fs), lastOf(t, fs, ".sst"), blocks
}

// TestSortedFileWithFlippedBytes damages bytes of a sorted file. No read may return other bytes than those that
// were written, and damage among the blocks of one PV must not harm those of the other PVs.
func TestSortedFileWithFlippedBytes(t *testing.T) {
	pvs := []string{"A", "B", "C"}
	files, table, blocks := tableOfBlocks(t, pvs)
	alone, flips := map[string]int{}, 0
	for at := 0; at < len(files[table]); at += 401 {
		flips++
		if bad, opened := unreadable(t, diskWith(t, files, table, flipped(files[table], at)), blocks); opened && len(bad) == 1 {
			alone[bad[0]]++
		}
	}
	for _, pv := range pvs {
		if alone[pv] < flips/5 {
			t.Errorf("%d of %d damaged bytes harm only the block of %s, want about a third; of all PVs: %v", alone[pv], flips, pv, alone)
		}
	}
}

// unreadable returns the PVs whose blocks cannot be read. opened is false if the archive cannot be opened.
func unreadable(t *testing.T, fs vfs.FS, blocks []store.Block) (bad []string, opened bool) {
	t.Helper()
	s, err := openMemory(fs)
	if err != nil {
		return nil, false
	}
	defer closeStore(t, s)
	for _, want := range blocks {
		n := 0
		for got, err := range s.Blocks(t.Context(), want.PV, want.Bucket, want.Start, want.Start) {
			if err != nil {
				bad = append(bad, want.PV)
				n++
				break
			}
			if n++; !bytes.Equal(got.Blob, want.Blob) {
				t.Errorf("the block of %s has other bytes", want.PV)
			}
		}
		if n != 1 {
			t.Errorf("a read of %s yields %d blocks and no error", want.PV, n)
		}
	}
	return bad, true
}

// TestADamagedElementHarmsOnlyItsPV puts keys into the directory that cannot be read. The rest of the entry and all other
// entries must stay readable.
func TestADamagedElementHarmsOnlyItsPV(t *testing.T) {
	s, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, d := t.Context(), store.Deleted{From: 3, To: 5}
	for _, pv := range []string{"A", "B", "C"} {
		if err := s.AddChannel(ctx, store.Channel{PV: pv, Shards: []int{7}, Deleted: []store.Deleted{d}}); err != nil {
			t.Fatal(err)
		}
	}
	key := func(rest ...byte) []byte { return append(pvKey(tableChannel, "B"), rest...) }
	whole := appendDeleted(key(setDeleted), &d)
	for _, k := range [][]byte{key(setDeleted), whole[:len(whole)-1], append(whole[:len(whole)-1:len(whole)-1], 2), append(whole[:len(whole):len(whole)], 0), key(setStarts, 1, 2)} {
		if err := s.db.Set(k, nil, pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	for _, damaged := range []int{5, 0} {
		n := 0
		for c, err := range s.Channels(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			want := 0
			if c.PV == "B" {
				want = damaged
			}
			if c.Damaged != want || !slices.Equal(c.Deleted, []store.Deleted{d}) || !slices.Equal(c.Shards, []int{7}) {
				t.Errorf("the entry is %+v, want %d damaged elements", c, want)
			}
		}
		if n != 3 {
			t.Errorf("the directory has %d PVs", n)
		}
		if c, found, err := s.Channel(ctx, "B"); err != nil || !found || c.Damaged != damaged {
			t.Errorf("the entry is %+v, %t, %v", c, found, err)
		}
		if err := s.DropDamaged(ctx, "B"); err != nil {
			t.Fatal(err)
		}
	}
}
