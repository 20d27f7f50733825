package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/store"
)

// PutBlocks implements store.Store. Headers and blobs are in separate tables, so that the
// headers of a bucket can be read without its blobs.
func (s *Store) PutBlocks(ctx context.Context, blocks ...store.Block) error {
	s.dropping.RLock()
	defer s.dropping.RUnlock()
	written := time.Now().UnixNano()
	return s.commit(ctx, "blocks", func(b *pebble.Batch) error {
		for i := range blocks {
			if err := putBlock(b, &blocks[i], written); err != nil {
				return err
			}
		}
		return nil
	})
}

func putBlock(b *pebble.Batch, blk *store.Block, written int64) error {
	if len(blk.Blob) > store.MaxBlob {
		return fmt.Errorf("a block of %s of %d bytes: %w", blk.PV, len(blk.Blob), store.ErrTooLarge)
	}
	if r := blk.Bucket.Tier(); !r.Valid() {
		return fmt.Errorf("a block of %s on %v: %w", blk.PV, r, store.ErrNoTier)
	}
	if blk.Count < 0 || blk.Count > math.MaxUint32 {
		return fmt.Errorf("a block of %s has the invalid count %d", blk.PV, blk.Count)
	}
	return errors.Join(
		b.Set(blockKey(tableHeader, &blk.BlockKey), appendWritten(appendHeader(nil, blk), written), nil),
		b.Set(blockKey(tableBlob, &blk.BlockKey), blk.Blob, nil),
	)
}

// Blocks implements store.Store.
func (s *Store) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		snap := s.db.NewSnapshot() // so that header and blob are of the same version
		defer snap.Close()
		for blk, err := range headers(ctx, snap, pv, b, to) {
			if err == nil && blk.End < from {
				continue
			}
			if err == nil {
				blk.Blob, err = blob(snap, &blk.BlockKey)
			}
			if !yield(blk, err) || err != nil {
				return
			}
		}
	}
}

// LastBlock implements store.Store.
func (s *Store) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (last store.Block, found bool, err error) {
	snap := s.db.NewSnapshot()
	defer snap.Close()
	for blk, err := range headers(ctx, snap, pv, b, at) {
		if err != nil {
			return store.Block{}, false, err
		}
		if !found || blk.End >= last.End {
			last, found = blk, true
		}
	}
	if found {
		if last.Blob, err = blob(snap, &last.BlockKey); err != nil {
			return store.Block{}, false, err
		}
	}
	return last, found, nil
}

// headers yields the blocks of a bucket that start at or before a time, without
// their blobs.
func headers(ctx context.Context, snap *pebble.Snapshot, pv string, b store.Bucket, to int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		for h, err := range headerRows(ctx, snap, pv, b, to) {
			if !yield(h.Block, err) {
				return
			}
		}
	}
}

// header is a block without its blob.
type header struct {
	store.Block
	written int64 // in ns since 1970; 0 if a version before 4 wrote the block
}

// headerRows yields the same blocks as headers, with the times when they were written.
func headerRows(ctx context.Context, db reading, pv string, b store.Bucket, to int64) iter.Seq2[header, error] {
	lower := bucketKey(tableHeader, pv, b)
	upper := after(appendInt64(bytes.Clone(lower), to))
	return decoded(scan(ctx, db, lower, upper), "blocks of "+pv, func(e entry) (header, error) {
		blk := header{Block: store.Block{BlockKey: store.BlockKey{PV: pv, Bucket: b}}}
		tail := e.key[len(lower):]
		if len(tail) != blockTail {
			return blk, errCorrupt
		}
		blk.Start, blk.N = int64At(tail), binary.BigEndian.Uint32(tail[8+len(blk.Writer):])
		copy(blk.Writer[:], tail[8:])
		var fields []byte
		fields, blk.written = cutWritten(e.value)
		return blk, decodeHeader(&blk.Block, fields)
	})
}

// blob returns a copy of a block's blob.
func blob(snap *pebble.Snapshot, k *store.BlockKey) ([]byte, error) {
	v, closer, err := snap.Get(blockKey(tableBlob, k))
	if err != nil {
		return nil, fmt.Errorf("reading a block of %s: %w", k.PV, err)
	}
	defer closer.Close()
	return bytes.Clone(v), nil
}
