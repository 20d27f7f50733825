package cassandra

import (
	"context"
	"fmt"
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
	return each(ctx, n, func(ctx context.Context, i int) error {
		b := first + store.Bucket(i)*(first.Next()-first)
		switch reach, err := s.reach(ctx, pv, b); {
		case err != nil:
			return err
		case reach < 0:
			return nil
		}
		return s.write(ctx, write{
			operation: "deletion",
			stmt:      "DELETE FROM block_forever WHERE pv = ? AND bucket = ? AND start >= ?",
			values:    []any{pv, int64(b), int64(math.MinInt64)},
		})
	})
}
