package cassandra

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/schema"
)

var (
	insertBlock = onTiers(`INSERT INTO block_@
		(pv, bucket, start, writer, n, end_time, samples, kind, low, high, total, size, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TTL ?`)
	insertOutOfLine = onTiers(`INSERT INTO block_@
		(pv, bucket, start, writer, n, end_time, samples, kind, low, high, total, size, stamp)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TTL ?`)
	noteOutOfLine = onTiers("INSERT INTO block_apart_@ (pv, bucket, start, writer, n) VALUES (?, ?, ?, ?, ?) USING TTL ?")
	dropOlder     = onTiers(`DELETE FROM block_part_@
		WHERE pv = ? AND bucket = ? AND start = ? AND writer = ? AND n = ? AND stamp < ?`)

	// addReach tells a reader how far back to look for a block that overlaps a range:
	// the base 2 logarithm of the time from its start to its end, rounded up. A
	// partition has those of all its blocks, and the largest is for all of them. So
	// the reach of a partition only grows, and is never read to be written; and yet
	// its timestamps are those of the rows beside it: with lower ones, which would
	// make the largest win by themselves, no SSTable of the table could ever go whole.
	addReach = onTiers("UPDATE block_@ USING TTL ? SET reaches = reaches + ? WHERE pv = ? AND bucket = ?")
)

// PutBlocks implements store.Store.
func (s *Store) PutBlocks(ctx context.Context, blocks ...store.Block) error {
	for i := range blocks {
		b := &blocks[i]
		if len(b.Blob) > store.MaxBlob {
			return fmt.Errorf("writing a block of %s of %d bytes: %w", b.PV, len(b.Blob), store.ErrTooLarge)
		}
		if err := s.need(ctx, b.Bucket.Tier()); err != nil {
			return fmt.Errorf("writing a block of %s: %w", b.PV, err)
		}
	}
	return each(ctx, len(blocks), parallel, func(ctx context.Context, i int) error {
		b, t := &blocks[i], s.clock.Next()
		if len(b.Blob) > schema.BlockInline {
			return s.putOutOfLine(ctx, b, t)
		}
		return s.putRow(ctx, b, t, insertBlock, b.Blob, len(b.PV)+len(b.Blob))
	})
}

// putOutOfLine writes a block whose blob stands in parts, apart from its bucket: one
// that holds images would be far larger than a partition should be. In order,
// each step acknowledged before the next:
//
//  1. a note that parts of the block may exist, for Delete to find them
//  2. the parts, under the stamp of this write
//  3. the row that has their size and stamp, from which on readers see it
//  4. away with parts of older stamps: of the block before it grew, or of a write
//     that was broken off
//
// All have one timestamp, and the stamp is the same number. On a tier, notes and parts
// outlive their row. What may cross:
//
//   - A reader between 2 and 3 sees the row before, and parts of its stamp: never
//     bytes of two writes. One that has read that row before 3, and its parts
//     after 4, finds some missing and reads the row again.
//   - This writer ends anywhere: until 3 nothing of it is seen. Its next try has
//     another stamp, and 4 takes what the one before left.
//   - Delete has a timestamp of its own for all rows of a bucket: those of a write
//     go altogether, or stay altogether, in whatever order the servers get them.
//     Its note stays unless Delete saw it, so that it finds the parts the next time.
//   - A try that timed out still arrives after the next one ended: its row loses
//     against the later timestamp, and its parts against the deletion of 4.
func (s *Store) putOutOfLine(ctx context.Context, b *store.Block, t int64) error {
	r, ttl := b.Bucket.Tier(), s.longer(s.ttl(b.Bucket.Expires()))
	err := s.write(ctx, write{operation: "block_apart", stmt: noteOutOfLine[r], values: append(blockKey(&b.BlockKey), ttl), timestamp: t})
	if err != nil {
		return err
	}
	if err := s.putParts(ctx, blockParts(&b.BlockKey, t, ttl), b.Blob, t); err != nil {
		return err
	}
	if err := s.putRow(ctx, b, t, insertOutOfLine, t, len(b.PV)); err != nil {
		return err
	}
	return s.write(ctx, write{operation: "block_part", stmt: dropOlder[r], values: append(blockKey(&b.BlockKey), t), timestamp: t})
}

// putRow writes the row of a block, whose last column is the blob or its stamp,
// and how far the block reaches, as one mutation of their partition.
func (s *Store) putRow(ctx context.Context, b *store.Block, t int64, stmt perTier, last any, size int) error {
	r, ttl := b.Bucket.Tier(), s.ttl(b.Bucket.Expires())
	insert := append(make([]any, 0, 14), b.PV, int64(b.Bucket), b.Start, b.Writer[:], int64(b.N), b.End, b.Count,
		int(b.Type), b.Min, b.Max, b.Sum, len(b.Blob), last, ttl)
	reach := b.End - b.Start
	if reach <= 0 { // that of one sample, or of a carried-forward one
		return s.write(ctx, write{operation: "block", stmt: stmt[r], values: insert, size: size, timestamp: t})
	}
	return s.bounded(ctx, "block", size, func(ctx context.Context) error {
		batch := s.session.Batch(gocql.UnloggedBatch).WithTimestamp(t).SpeculativeExecutionPolicy(s.metrics.nodes)
		batch.Entries = []gocql.BatchEntry{
			{Stmt: stmt[r], Args: insert, Idempotent: true},
			{Stmt: addReach[r], Args: []any{s.longer(ttl), []int8{log2(reach)}, b.PV, int64(b.Bucket)}, Idempotent: true},
		}
		return batch.ExecContext(ctx)
	})
}

// log2 returns the base 2 logarithm of a positive number, rounded up.
func log2(n int64) int8 { return int8(bits.Len64(uint64(n) - 1)) }

// exp2 returns 2 to the power of n, or the greatest number if that is less.
func exp2(n int8) int64 {
	if n > 62 {
		return math.MaxInt64
	}
	return 1 << max(n, 0)
}
