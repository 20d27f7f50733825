package pebble

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/store"
)

// PutRollups implements store.Store.
func (s *Store) PutRollups(ctx context.Context, rows ...store.Rollup) error {
	if len(rows) == 0 {
		return nil
	}
	// If a tile has several rows, the row with the latest stamp comes last and wins.
	rows = slices.SortedStableFunc(slices.Values(rows), func(a, b store.Rollup) int { return cmp.Compare(a.Stamp, b.Stamp) })
	s.rolling.Lock()
	defer s.rolling.Unlock()
	return s.commit(ctx, "rollups", func(b *pebble.Batch) error {
		for i := range rows {
			if err := s.putRollup(b, &rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// putRollup adds a row to a batch unless the store has one with a later stamp.
func (s *Store) putRollup(b *pebble.Batch, r *store.Rollup) error {
	switch {
	case len(r.Blob) > store.MaxRollup:
		return fmt.Errorf("a rollup of %s of %d bytes: %w", r.PV, len(r.Blob), store.ErrTooLarge)
	case !r.Level.Valid():
		return fmt.Errorf("a rollup of %s of level %v: %w", r.PV, r.Level, store.ErrNoTier)
	}
	key := rollupKey(r.PV, r.Level, r.Tile)
	v, closer, err := s.db.Get(key)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return b.Set(key, appendRollup(nil, r), nil)
	case err != nil:
		return err
	}
	var there store.Rollup
	err = errors.Join(decodeRollup(&there, v), closer.Close())
	if err != nil || there.Stamp > r.Stamp {
		return err
	}
	return b.Set(key, appendRollup(nil, r), nil)
}

// Rollups implements store.Store.
func (s *Store) Rollups(ctx context.Context, pv string, l store.Level, first, last store.Tile) iter.Seq2[store.Rollup, error] {
	prefix := levelKey(pv, l)
	lower, upper := rollupKey(pv, l, first), after(rollupKey(pv, l, last))
	return decoded(scan(ctx, s.db, lower, upper), "rollups of "+pv, func(e entry) (store.Rollup, error) {
		r := store.Rollup{PV: pv, Level: l}
		tail := e.key[len(prefix):]
		if len(tail) != 8 {
			return r, errCorrupt
		}
		r.Tile = store.Tile(int64At(tail))
		return r, decodeRollup(&r, bytes.Clone(e.value))
	})
}
