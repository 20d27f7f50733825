package pebble

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// commit calls fill with an empty batch, writes the batch atomically, and returns when it is
// durable.
func (s *Store) commit(ctx context.Context, table string, fill func(*pebble.Batch) error) error {
	err := ctx.Err()
	start := time.Now()
	size := 0
	if err == nil {
		b := s.db.NewBatch()
		defer b.Close()
		if err = fill(b); err == nil {
			size = b.Len()
			if err = s.checkRoom(table, size); err == nil {
				err = b.Commit(pebble.Sync)
			}
		}
	}
	s.metrics.wrote(table, size, start, err)
	if err != nil {
		return fmt.Errorf("writing %s: %w", table, err)
	}
	return nil
}

// reading has the methods for reading that a database shares with its snapshots.
type reading interface {
	NewIterWithContext(ctx context.Context, o *pebble.IterOptions) (*pebble.Iterator, error)
}

// entry is a key and its value. Both are valid until the next entry is requested.
type entry struct{ key, value []byte }

// scan yields the entries from lower (inclusive) to upper (exclusive), in order.
func scan(ctx context.Context, db reading, lower, upper []byte) iter.Seq2[entry, error] {
	return walk(ctx, db, lower, upper, (*pebble.Iterator).First, (*pebble.Iterator).Next)
}

// scanBack yields the same entries as scan, in reverse order.
func scanBack(ctx context.Context, db reading, lower, upper []byte) iter.Seq2[entry, error] {
	return walk(ctx, db, lower, upper, (*pebble.Iterator).Last, (*pebble.Iterator).Prev)
}

// walk yields the entries from lower (inclusive) to upper (exclusive), in the order of first and next.
func walk(ctx context.Context, db reading, lower, upper []byte, first, next func(*pebble.Iterator) bool) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		it, err := db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			yield(entry{}, err)
			return
		}
		defer it.Close()
		for ok := first(it); ok && ctx.Err() == nil; ok = next(it) {
			v, err := it.ValueAndErr()
			if !yield(entry{it.Key(), v}, err) || err != nil {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(entry{}, err)
		} else if err := it.Error(); err != nil {
			yield(entry{}, err)
		}
	}
}

// decoded decodes the entries and yields the results, up to the first error. The text of an
// error contains the parameter what, which names the rows.
func decoded[T any](entries iter.Seq2[entry, error], what string, decode func(entry) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for e, err := range entries {
			var row T
			if err == nil {
				row, err = decode(e)
			}
			if err != nil {
				err = fmt.Errorf("reading %s: %w", what, err)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}
