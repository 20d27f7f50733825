package pebble

import (
	"context"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/store"
)

// PutMetadata implements store.Store.
func (s *Store) PutMetadata(ctx context.Context, m store.PVMetadata) error {
	return s.commit(ctx, "metadata", func(b *pebble.Batch) error {
		return b.Set(metadataKey(m.PV, m.Time), appendMetadata(nil, &m.Metadata), nil)
	})
}

// MetadataAt implements store.Store.
func (s *Store) MetadataAt(ctx context.Context, pv string, at int64) (m store.PVMetadata, found bool, err error) {
	m, found, err = s.metadataAt(ctx, pv, at)
	if err != nil {
		err = fmt.Errorf("reading metadata of %s: %w", pv, err)
	}
	return m, found, err
}

func (s *Store) metadataAt(ctx context.Context, pv string, at int64) (m store.PVMetadata, found bool, err error) {
	if err := ctx.Err(); err != nil {
		return m, false, err
	}
	prefix := pvKey(tableMetadata, pv)
	it, err := s.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return m, false, err
	}
	defer it.Close()
	if !it.SeekLT(after(metadataKey(pv, at))) && !it.First() {
		return m, false, it.Error()
	}
	v, err := it.ValueAndErr()
	if err != nil {
		return m, false, err
	}
	tail := it.Key()[len(prefix):]
	if len(tail) != 8 {
		return m, false, errCorrupt
	}
	m.PV, m.Time = pv, int64At(tail)
	if err := decodeMetadata(&m.Metadata, v); err != nil {
		return store.PVMetadata{}, false, err
	}
	return m, true, nil
}

// Metadata implements store.Store.
func (s *Store) Metadata(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMetadata, error] {
	prefix := pvKey(tableMetadata, pv)
	lower, upper := metadataKey(pv, from), after(metadataKey(pv, to))
	return decoded(scan(ctx, s.db, lower, upper), "metadata of "+pv, func(e entry) (store.PVMetadata, error) {
		m := store.PVMetadata{PV: pv}
		tail := e.key[len(prefix):]
		if len(tail) != 8 {
			return m, errCorrupt
		}
		m.Time = int64At(tail)
		return m, decodeMetadata(&m.Metadata, e.value)
	})
}
