package pebble

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/store"
)

// Delete implements store.Store. It deletes everything in one batch.
func (s *Store) Delete(ctx context.Context, pv string) error {
	defer s.reportDirectory(pv, true)
	return s.commit(ctx, "deletion", func(b *pebble.Batch) error {
		var errs []error
		for _, table := range []byte{tableHeader, tableBlob, tableRollup, tableMark, tableMetadata, tableChannel} {
			prefix := pvKey(table, pv)
			errs = append(errs, b.DeleteRange(prefix, after(prefix), nil))
		}
		return errors.Join(errs...)
	})
}

// DropBucket implements store.Store. While it reads the write times of blocks and deletes the
// old blocks, a lock keeps other blocks from being written.
func (s *Store) DropBucket(ctx context.Context, pv string, bucket store.Bucket, before int64) (bytes int64, err error) {
	s.dropping.Lock()
	defer s.dropping.Unlock()
	var old []store.BlockKey
	all := true
	for h, err := range headerRows(ctx, s.db, pv, bucket, math.MaxInt64) {
		if err != nil {
			return 0, err
		}
		if h.written > before {
			all = false
			continue
		}
		n, err := s.blobSize(&h.BlockKey)
		if err != nil {
			return 0, err
		}
		old, bytes = append(old, h.BlockKey), bytes+n
	}
	if len(old) == 0 {
		return 0, nil
	}
	err = s.commit(ctx, "deletion", func(b *pebble.Batch) error {
		if all {
			return dropBucket(b, pv, bucket)
		}
		var errs []error
		for i := range old {
			errs = append(errs, dropBlock(b, &old[i]))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return 0, err
	}
	return bytes, nil
}

// blobSize returns the size of a block's blob in bytes.
func (s *Store) blobSize(k *store.BlockKey) (int64, error) {
	v, closer, err := s.db.Get(blockKey(tableBlob, k))
	if err != nil {
		return 0, fmt.Errorf("reading a block of %s: %w", k.PV, err)
	}
	return int64(len(v)), closer.Close()
}

func dropBucket(b *pebble.Batch, pv string, bucket store.Bucket) error {
	var errs []error
	for _, table := range []byte{tableHeader, tableBlob} {
		prefix := bucketKey(table, pv, bucket)
		errs = append(errs, b.DeleteRange(prefix, after(prefix), nil))
	}
	return errors.Join(errs...)
}
