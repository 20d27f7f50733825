package cassandra

import (
	"context"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
)

const (
	insertBlock = `INSERT INTO block_forever
		(pv, bucket, start, writer, n, end_time, samples, kind, low, high, total, size, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	raiseReach = "UPDATE block_forever USING TIMESTAMP ? SET reach = ? WHERE pv = ? AND bucket = ?"
)

// PutBlocks implements store.Store.
func (s *Store) PutBlocks(ctx context.Context, blocks ...store.Block) error {
	for i := range blocks {
		if b := &blocks[i]; len(b.Blob) > store.MaxBlob {
			return fmt.Errorf("writing a block of %s of %d bytes: %w", b.PV, len(b.Blob), store.ErrTooLarge)
		}
	}
	return each(ctx, len(blocks), func(ctx context.Context, i int) error { return s.putBlock(ctx, &blocks[i]) })
}

// putBlock writes a block, and how far it reaches, as one mutation of their
// partition.
func (s *Store) putBlock(ctx context.Context, b *store.Block) error {
	insert := []any{
		b.PV, int64(b.Bucket), b.Start, b.Writer[:], int64(b.N), b.End, b.Count, int(b.Type),
		b.Min, b.Max, b.Sum, len(b.Blob), b.Blob,
	}
	size := len(b.PV) + len(b.Blob)
	reach := b.End - b.Start
	if reach <= 0 { // that of one sample, or of a carried one
		return s.write(ctx, write{operation: "block", stmt: insertBlock, values: insert, size: size})
	}
	return s.bounded(ctx, "block", size, func(ctx context.Context) error {
		batch := s.session.Batch(gocql.UnloggedBatch).WithTimestamp(s.clock.next())
		batch.Entries = []gocql.BatchEntry{
			{Stmt: insertBlock, Args: insert, Idempotent: true},
			{Stmt: raiseReach, Args: []any{reach, reach, b.PV, int64(b.Bucket)}, Idempotent: true},
		}
		return batch.ExecContext(ctx)
	})
}
