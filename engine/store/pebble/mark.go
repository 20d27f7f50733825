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
			if err := b.Set(markKey(&marks[i]), appendMark(nil, &marks[i].Mark), nil); err != nil {
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
		tail := e.key[len(prefix):]
		if len(tail) != markTail {
			return m, errCorrupt
		}
		m.Time, m.Kind, m.Reason = int64At(tail), sample.MarkKind(tail[8]), sample.Reason(tail[9])
		copy(m.Writer[:], tail[10:])
		return m, decodeMark(&m.Mark, e.value)
	})
}
