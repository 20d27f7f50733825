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

	// addReach stores the reach of a block: how far before a range a reader must search for a
	// block that overlaps the range. The reach is the base 2 logarithm of the time from the
	// block's start to its end, rounded up. A partition stores the set of the reaches of all
	// its blocks. A reader uses the largest one. The set only grows, so a writer can add to it
	// without reading it. The reaches have the same timestamps as the rows of their blocks. A
	// plain column whose timestamp depends on the reach would keep the largest reach too, but
	// Cassandra could then never delete a whole SSTable of the table.
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

// putOutOfLine writes a block whose blob is stored out of line, as parts in a partition of
// their own. If a bucket contained the blobs of images, its partition would be far too large.
// Each step is acknowledged before the next step begins:
//
//  1. Write a note that parts of the block may exist, so that Delete finds them.
//  2. Write the parts, under the stamp of this write.
//  3. Write the row with their size and stamp. Readers see the block from then on.
//  4. Delete parts with older stamps. They belong to the block before it grew, or to an
//     interrupted write.
//
// All writes have the same timestamp, and the stamp is the same number. On a tier whose rows
// expire, notes and parts expire later than their row. These operations may overlap:
//
//   - Between steps 2 and 3, a reader sees the previous row and the parts with that row's
//     stamp. It never combines bytes of two writes. A reader that reads the previous row
//     before step 3 and its parts after step 4 finds parts missing, and reads the row again.
//   - The writer may crash at any step. Before step 3, readers see nothing of the write. The
//     writer's next attempt has another stamp, and its step 4 deletes the parts of the
//     interrupted attempt.
//   - Delete uses one timestamp for all rows of a bucket. It therefore deletes all rows of a
//     write or none, regardless of the order in which the servers receive them. The note stays
//     unless Delete has read it, so that the next Delete finds the parts.
//   - An attempt that timed out may arrive after the next attempt has completed. Its row loses
//     against the later timestamp, and its parts lose against the deletion in step 4.
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

// putRow writes the row and the reach of a block as one mutation of their partition. last is
// the last column of the row: the blob, or the stamp of a blob that is stored out of line.
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

// exp2 returns 2 to the power of n, or the greatest int64 if the power exceeds it.
func exp2(n int8) int64 {
	if n > 62 {
		return math.MaxInt64
	}
	return 1 << max(n, 0)
}
