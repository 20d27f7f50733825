package pebble

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// TestBlocksOfVersion3AreDropped checks that DropBucket drops blocks of version 3. These have
// no write time and therefore count as older than all others.
func TestBlocksOfVersion3AreDropped(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	of := func(n uint32) store.Block {
		k := store.BlockKey{PV: "A", Bucket: store.Day.Of(0), Start: 5, Writer: store.WriterID{1}, N: n}
		return store.Block{BlockKey: k, End: 5, Count: 1, Type: sample.Float64, Blob: []byte("old")}
	}
	old, young := of(1), of(2)
	err = s.commit(t.Context(), "blocks", func(b *pebble.Batch) error {
		if err := b.Set(blockKey(tableHeader, &old.BlockKey), appendHeader(nil, &old), nil); err != nil {
			return err
		}
		return b.Set(blockKey(tableBlob, &old.BlockKey), old.Blob, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutBlocks(t.Context(), young); err != nil {
		t.Fatal(err)
	}
	count := func() (n int) {
		for b, err := range s.Blocks(t.Context(), "A", old.Bucket, 0, 10) {
			if err != nil || string(b.Blob) != "old" {
				t.Fatalf("%q, %v", b.Blob, err)
			}
			n++
		}
		return n
	}
	if n := count(); n != 2 {
		t.Errorf("there are %d blocks of version 3", n)
	}
	if bytes, err := s.DropBucket(t.Context(), "A", old.Bucket, 1); err != nil || bytes != 3 {
		t.Errorf("DropBucket returns %d, %v", bytes, err)
	}
	if n := count(); n != 1 {
		t.Errorf("%d blocks are left", n)
	}
}
