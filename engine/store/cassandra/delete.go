package cassandra

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strconv"
	"time"

	"varve.dev/varve/engine/store"
)

var (
	dropBlocks = onTiers("DELETE FROM block_@ WHERE pv = ? AND bucket = ? AND start >= ?")
	dropParts  = onTiers("DELETE FROM block_part_@ WHERE pv = ? AND bucket = ? AND start = ? AND writer = ? AND n = ?")
	dropNote   = onTiers("DELETE FROM block_apart_@ WHERE pv = ? AND bucket = ? AND start = ? AND writer = ? AND n = ?")
	readSizes  = onTiers("SELECT size, WRITETIME(size) FROM block_@ WHERE pv = ? AND bucket = ?")
	readNotes  = onTiers("SELECT start, writer, n FROM block_apart_@ WHERE pv = ? AND bucket = ?")
)

// Delete implements store.Store. According to the directory, many buckets may contain blocks,
// but most of them contain none. Delete reads each bucket before it deletes from it, because
// each deletion leaves a tombstone. It skips buckets that have expired.
//
// The timestamps of deletions come from the clocks of the nodes, as those of all writes do. Delete
// waits at its end for the time by which processes may differ about them. A process that archives
// the PV again after Delete has returned therefore writes with later timestamps, even if its own
// clock is behind, and no deletion hides what it writes.
func (s *Store) Delete(ctx context.Context, pv string) error {
	c, found, err := s.Channel(ctx, pv)
	if err != nil {
		return fmt.Errorf("deleting %s: %w", pv, err)
	}
	for _, first := range c.Starts {
		if err := s.deleteBlocks(ctx, pv, first); err != nil {
			return fmt.Errorf("deleting %s: %w", pv, err)
		}
	}
	if err := s.deleteRollups(ctx, &c); err != nil {
		return fmt.Errorf("deleting %s: %w", pv, err)
	}
	stmts := []string{"DELETE FROM mark WHERE pv = ?", "DELETE FROM metadata WHERE pv = ?"}
	if found {
		stmts = append(stmts, "DELETE FROM channel WHERE pv = ?") // last
	}
	for _, stmt := range stmts {
		if err := s.write(ctx, write{operation: "deletion", stmt: stmt, values: []any{pv}}); err != nil {
			return fmt.Errorf("deleting %s: %w", pv, err)
		}
	}
	return s.settle(ctx)
}

// deleteBlocks deletes the blocks in a bucket and in the later buckets of its span.
func (s *Store) deleteBlocks(ctx context.Context, pv string, first store.Bucket) error {
	oldest := s.earliest() - int64(s.shortestTTL)
	next := first.Next() - first
	for b := first; b <= first.Span().Last(); b += next {
		if at, ok := b.Expires(); !ok || at > oldest {
			n := int((first.Span().Last()-b)/next) + 1
			return each(ctx, n, parallel, func(ctx context.Context, i int) error {
				return s.deleteBucket(ctx, pv, b+store.Bucket(i)*next, s.clock.Next())
			})
		}
	}
	return nil
}

// DropBucket implements store.Store. The timestamp of the deletion is before, so rows that
// were written later win against it, regardless of when they arrive.
func (s *Store) DropBucket(ctx context.Context, pv string, b store.Bucket, before int64) (bytes int64, err error) {
	t := before / int64(time.Microsecond)
	if bytes, err = s.bytesBefore(ctx, pv, b, t); err == nil {
		err = s.deleteBucket(ctx, pv, b, t)
	}
	if err != nil {
		return 0, fmt.Errorf("deleting blocks of %s: %w", pv, err)
	}
	return bytes, nil
}

// bytesBefore returns the bytes, in all replicas, of the blobs in a bucket whose rows have
// a timestamp up to t.
func (s *Store) bytesBefore(ctx context.Context, pv string, b store.Bucket, t int64) (bytes int64, err error) {
	if there, err := s.has(ctx, b.Tier()); err != nil || !there {
		return 0, err
	}
	it := s.query(ctx, "block_sizes", headerPage, readSizes[b.Tier()], pv, int64(b))
	var written *int64 // null if the partition has only its reach
	for size := int64(0); it.Scan(&size, &written); {
		if written != nil && *written <= t {
			bytes += size
		}
	}
	return bytes * s.replicas(), it.Close()
}

// replicas returns the number of copies of each row in the datacenter.
func (s *Store) replicas() int64 {
	meta, err := s.session.KeyspaceMetadata(s.cfg.Keyspace)
	if err != nil {
		return 1
	}
	n, err := strconv.ParseInt(fmt.Sprint(meta.StrategyOptions[s.cfg.Datacenter]), 10, 64)
	if err != nil {
		return 1
	}
	return n
}

// deleteBucket deletes the rows of a bucket that were written up to a timestamp. It deletes
// the blocks first, so that no reader sees a block without its parts. It then deletes the
// parts, and at last their notes. It deletes only notes that it has read: see putOutOfLine.
//
// The reach of a partition stays, because a reach that is too large does no harm. A tombstone
// of the whole partition would do harm: in archives of version 2 the timestamp of a reach is
// far lower than the time of a clock, so the tombstone would hide later reaches for good, and
// readers would miss blocks.
func (s *Store) deleteBucket(ctx context.Context, pv string, b store.Bucket, t int64) error {
	r := b.Tier()
	reach, err := s.reach(ctx, pv, b)
	if there, _ := s.has(ctx, r); err != nil || !there {
		return err
	}
	remove := func(stmt perTier, values ...any) error {
		return s.write(ctx, write{operation: "deletion", stmt: stmt[r], values: values, timestamp: t})
	}
	if reach >= 0 {
		if err := remove(dropBlocks, pv, int64(b), int64(math.MinInt64)); err != nil {
			return err
		}
	}
	for key, err := range s.notes(ctx, pv, b) {
		if err == nil {
			err = remove(dropParts, blockKey(&key)...)
		}
		if err == nil {
			err = remove(dropNote, blockKey(&key)...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notes yields the keys of the blocks in a bucket that may have parts.
func (s *Store) notes(ctx context.Context, pv string, b store.Bucket) iter.Seq2[store.BlockKey, error] {
	return func(yield func(store.BlockKey, error) bool) {
		it := s.query(ctx, "block_notes", headerPage, readNotes[b.Tier()], pv, int64(b))
		var writer []byte
		var n int64
		for key := (store.BlockKey{PV: pv, Bucket: b}); it.Scan(&key.Start, &writer, &n); {
			copy(key.Writer[:], writer)
			key.N = uint32(n)
			if !yield(key, nil) {
				_ = it.Close() // the caller stopped early
				return
			}
		}
		if err := it.Close(); err != nil {
			yield(store.BlockKey{}, fmt.Errorf("reading which blocks of %s are stored out of line: %w", pv, err))
		}
	}
}
