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

	// addReach stores how far back a reader must search for a block that overlaps a range: the
	// base 2 logarithm of the time from the block's start to its end, rounded up. A partition
	// has the set of these values of all its blocks, and the largest value holds for all of
	// them. So the reach of a partition only grows, and can be written without a read. Its
	// timestamps are those of the rows beside it. With lower timestamps, the largest reach
	// would win by itself, but Cassandra could never delete an SSTable of the table as a
	// whole.
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

// putOutOfLine writes a block whose blob is stored out of line: in parts, in a partition
// of their own. A bucket with the images themselves would be far larger than a partition
// should be. Each step is acknowledged before the next:
//
//  1. Write a note that parts of the block may exist, so that Delete finds them.
//  2. Write the parts, under the stamp of this write.
//  3. Write the row with their size and stamp. From now on readers see the block.
//  4. Delete parts with older stamps: of the block before it grew, or of an interrupted
//     write.
//
// All writes have the same timestamp, and the stamp is the same number. On a tier, notes
// and parts outlive their row. These operations may overlap:
//
//   - A reader between 2 and 3 sees the previous row and the parts of its stamp, and never
//     bytes of two writes. A reader that has read that row before 3, and reads its parts
//     after 4, finds parts missing and reads the row again.
//   - The writer may end at any step. Readers see nothing of the write before 3. The
//     writer's next try has another stamp, and its step 4 deletes the parts of this one.
//   - Delete uses one timestamp for all rows of a bucket. So all rows of a write are
//     deleted or none, in whatever order the servers receive them. The note stays unless
//     Delete saw it, so that the next Delete finds the parts.
//   - A try that timed out may arrive after the next try has ended. Its row loses against
//     the later timestamp, and its parts lose against the deletion in step 4.
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

// putRow writes the row of a block, whose last column is the blob or its stamp, and the
// reach of the block, as one mutation of their partition.
func (s *Store) putRow(ctx context.Context, b *store.Block, t int64, stmt perTier, last any, size int) error {
	r, ttl := b.Bucket.Tier(), s.ttl(b.Bucket.Expires())
	insert := append(make([]any, 0, 14), b.PV, int64(b.Bucket), b.Start, b.Writer[:], int64(b.N), b.End, b.Count,
		int(b.Type), b.Min, b.Max, b.Sum, len(b.Blob), last, ttl)
	reach := b.End - b.Start
	if reach <= 0 { // a block of one sample, or of a carried-forward sample
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

// exp2 returns 2 to the power of n, or the greatest number if the power exceeds it.
func exp2(n int8) int64 {
	if n > 62 {
		return math.MaxInt64
	}
	return 1 << max(n, 0)
}
