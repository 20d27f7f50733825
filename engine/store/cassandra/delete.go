package cassandra

import (
	"context"
	"fmt"
	"iter"
	"math"

	"varve.dev/varve/engine/store"
)

// Delete implements store.Store. It asks every bucket that may hold blocks, the
// directory being what names them, before it deletes from it: most hold none, and
// each deletion leaves a tombstone.
//
// Deletions have the time of this process's clock: what a process whose clock is
// ahead has written a moment before may stay, until Delete is called again.
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
	stmts := []string{"DELETE FROM mark WHERE pv = ?", "DELETE FROM metadata WHERE pv = ?"}
	if found {
		stmts = append(stmts, "DELETE FROM channel WHERE pv = ?") // last
	}
	for _, stmt := range stmts {
		if err := s.write(ctx, write{operation: "deletion", stmt: stmt, values: []any{pv}}); err != nil {
			return fmt.Errorf("deleting %s: %w", pv, err)
		}
	}
	return nil
}

// deleteBlocks deletes the blocks in a bucket and in those of its span after it.
// The reach of a partition stays: its timestamps are far below those of a clock,
// so the tombstone of the whole partition would hide later ones for good, and
// readers would miss blocks. One that is too great does no harm.
func (s *Store) deleteBlocks(ctx context.Context, pv string, first store.Bucket) error {
	n := int((first.Span().Last()-first)/(first.Next()-first)) + 1
	return each(ctx, n, parallel, func(ctx context.Context, i int) error {
		return s.deleteBucket(ctx, pv, first+store.Bucket(i)*(first.Next()-first))
	})
}

// deleteBucket deletes the blocks first, so that none is seen without its parts,
// and the notes that parts exist last. Of these it deletes only what it has seen:
// see putApart.
func (s *Store) deleteBucket(ctx context.Context, pv string, b store.Bucket) error {
	t := s.clock.next()
	remove := func(stmt string, values ...any) error {
		return s.write(ctx, write{operation: "deletion", stmt: "DELETE FROM " + stmt, values: values, timestamp: t})
	}
	reach, err := s.reach(ctx, pv, b)
	if err == nil && reach >= 0 {
		err = remove("block_forever WHERE pv = ? AND bucket = ? AND start >= ?", pv, int64(b), int64(math.MinInt64))
	}
	if err != nil {
		return err
	}
	for key, err := range s.notes(ctx, pv, b) {
		if err != nil {
			return err
		}
		const of = " WHERE pv = ? AND bucket = ? AND start = ? AND writer = ? AND n = ?"
		for _, table := range []string{"block_part_forever", "block_apart_forever"} {
			if err := remove(table+of, blockKey(&key)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// notes yields the blocks of a bucket that parts may exist of.
func (s *Store) notes(ctx context.Context, pv string, b store.Bucket) iter.Seq2[store.BlockKey, error] {
	return func(yield func(store.BlockKey, error) bool) {
		it := s.query(ctx, "block_notes", headerPage,
			"SELECT start, writer, n FROM block_apart_forever WHERE pv = ? AND bucket = ?", pv, int64(b))
		var writer []byte
		var n int64
		for key := (store.BlockKey{PV: pv, Bucket: b}); it.Scan(&key.Start, &writer, &n); {
			copy(key.Writer[:], writer)
			key.N = uint32(n)
			if !yield(key, nil) {
				_ = it.Close() // the caller has what it wanted
				return
			}
		}
		if err := it.Close(); err != nil {
			yield(store.BlockKey{}, fmt.Errorf("reading which blocks of %s stand apart: %w", pv, err))
		}
	}
}
