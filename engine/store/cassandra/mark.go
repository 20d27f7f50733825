package cassandra

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// A page of marks has markPage rows. The caller of LatestMarks usually needs only the first rows.
const (
	markPage   = 1000
	latestPage = 20
)

// PutMarks implements store.Store.
func (s *Store) PutMarks(ctx context.Context, marks ...store.PVMark) error {
	return each(ctx, len(marks), parallel, func(ctx context.Context, i int) error {
		m := marks[i]
		m.Mark = m.Ordered()
		return s.write(ctx, write{
			operation: "mark",
			stmt:      "INSERT INTO mark (pv, time, kind, reason, writer, end_time, lost, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			values:    []any{m.PV, m.Time, int(m.Kind), int(m.Reason), m.Writer[:], m.End, int64(m.Count), text(m.Text)},
			size:      len(m.Text),
		})
	})
}

// text returns s as valid UTF-8, because CQL's type text requires it and IOCs may send any
// bytes.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Marks implements store.Store.
func (s *Store) Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error] {
	return s.readMarks(ctx, pv, markPage, selectMarks+" AND time >= ? AND time <= ?", from, to)
}

// LatestMarks implements store.Store.
func (s *Store) LatestMarks(ctx context.Context, pv string, at int64) iter.Seq2[store.PVMark, error] {
	return s.readMarks(ctx, pv, latestPage, selectMarks+" AND time <= ? ORDER BY time DESC", at)
}

const selectMarks = "SELECT time, kind, reason, writer, end_time, lost, note FROM mark WHERE pv = ?"

// readMarks yields the marks of a PV that a statement selects. times are the parameters of the
// statement besides the PV.
func (s *Store) readMarks(ctx context.Context, pv string, page int, stmt string, times ...any) iter.Seq2[store.PVMark, error] {
	return func(yield func(store.PVMark, error) bool) {
		it := s.query(ctx, "marks", page, stmt, append([]any{pv}, times...)...)
		for {
			var kind, reason int
			var lost int64
			var writer []byte
			m := store.PVMark{PV: pv}
			if !it.Scan(&m.Time, &kind, &reason, &writer, &m.End, &lost, &m.Text) {
				break
			}
			m.Kind, m.Reason, m.Count = sample.MarkKind(kind), sample.Reason(reason), uint64(lost)
			copy(m.Writer[:], writer)
			m.Mark = m.Ordered() // an earlier version did not put the bounds in order
			if !yield(m, nil) {
				_ = it.Close() // the caller stopped early
				return
			}
		}
		if err := it.Close(); err != nil {
			yield(store.PVMark{}, fmt.Errorf("reading marks of %s: %w", pv, err))
		}
	}
}
