package pebble

import (
	"context"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// PutMarks implements store.Store.
func (s *Store) PutMarks(ctx context.Context, marks ...store.PVMark) error {
	return s.commit(ctx, "marks", func(b *pebble.Batch) error {
		for i := range marks {
			key, value := encodeMark(marks[i])
			if err := b.Set(key, value, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// Marks implements store.Store.
func (s *Store) Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error] {
	lower, upper := appendInt64(pvKey(tableMark, pv), from), after(appendInt64(pvKey(tableMark, pv), to))
	return decodedMarks(scan(ctx, s.db, lower, upper), pv)
}

// LatestMarks implements store.Store.
func (s *Store) LatestMarks(ctx context.Context, pv string, at int64) iter.Seq2[store.PVMark, error] {
	return decodedMarks(scanBack(ctx, s.db, pvKey(tableMark, pv), after(appendInt64(pvKey(tableMark, pv), at))), pv)
}

func decodedMarks(entries iter.Seq2[entry, error], pv string) iter.Seq2[store.PVMark, error] {
	prefix := pvKey(tableMark, pv)
	return decoded(entries, "marks of "+pv, func(e entry) (store.PVMark, error) {
		m := store.PVMark{PV: pv}
		err := decodeMark(&m, e.key[len(prefix):], e.value)
		return m, err
	})
}

// encodeMark returns the entry of a mark, whose bounds are in order.
func encodeMark(m store.PVMark) (key, value []byte) {
	m.Mark = m.Ordered()
	return markKey(&m), appendMark(nil, &m.Mark)
}

// decodeMark decodes the entry of a mark, without its PV. tail is the key after the PV. It puts the bounds
// of marks of an earlier version in order.
func decodeMark(m *store.PVMark, tail, value []byte) error {
	if len(tail) != markTail {
		return errCorrupt
	}
	m.Time, m.Kind, m.Reason = int64At(tail), sample.MarkKind(tail[8]), sample.Reason(tail[9])
	copy(m.Writer[:], tail[10:])
	err := decodeMarkValue(&m.Mark, value)
	m.Mark = m.Ordered()
	return err
}
