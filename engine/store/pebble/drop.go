package pebble

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/store"
)

// DropBlock deletes one block that cannot be read.
func (s *Store) DropBlock(ctx context.Context, k store.BlockKey) error {
	return s.commit(ctx, "deletion", func(b *pebble.Batch) error { return dropBlock(b, &k) })
}

func dropBlock(b *pebble.Batch, k *store.BlockKey) error {
	return errors.Join(b.Delete(blockKey(tableHeader, k), nil), b.Delete(blockKey(tableBlob, k), nil))
}
