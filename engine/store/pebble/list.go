package pebble

import (
	"context"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/store"
)

// PVs yields the names of all PVs that have a directory entry, blocks, marks or metadata. It
// may yield a PV several times.
func (s *Store) PVs(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, table := range []byte{tableChannel, tableHeader, tableMark, tableMetadata} {
			for k, err := range s.prefixes(ctx, []byte{table}, func(k []byte) int {
				pv, _, ok := pvOf(k)
				if !ok {
					return 0
				}
				return len(pvKey(table, pv))
			}) {
				var pv string
				if err == nil {
					pv, _, _ = pvOf(k)
				}
				if !yield(pv, err) || err != nil {
					return
				}
			}
		}
	}
}

// Buckets yields the buckets in which a PV has blocks. It does not use the directory.
func (s *Store) Buckets(ctx context.Context, pv string) iter.Seq2[store.Bucket, error] {
	prefix := pvKey(tableHeader, pv)
	return func(yield func(store.Bucket, error) bool) {
		for k, err := range s.prefixes(ctx, prefix, func([]byte) int { return len(prefix) + 8 }) {
			var b store.Bucket
			if err == nil {
				b = store.Bucket(int64At(k[len(prefix):]))
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// prefixes scans the keys with the given prefix and yields their distinct longer prefixes, in
// order. length returns the length of a key's longer prefix. prefixes seeks from one longer
// prefix to the next, so it does not read every key.
func (s *Store) prefixes(ctx context.Context, prefix []byte, length func(key []byte) int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		it, err := s.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
		if err != nil {
			yield(nil, fmt.Errorf("listing keys: %w", err))
			return
		}
		defer it.Close()
		for ok := it.First(); ok && ctx.Err() == nil; {
			n := length(it.Key())
			if n == 0 || n > len(it.Key()) {
				yield(nil, fmt.Errorf("listing keys: %w", errCorrupt))
				return
			}
			k := append([]byte(nil), it.Key()[:n]...)
			if !yield(k, nil) {
				return
			}
			ok = it.SeekGE(after(k))
		}
		if err := it.Error(); err != nil {
			yield(nil, fmt.Errorf("listing keys: %w", err))
		} else if err := ctx.Err(); err != nil {
			yield(nil, err)
		}
	}
}
