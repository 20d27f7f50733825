package mark

import (
	"context"
	"math"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// putMarks stores marks, except those that repeat the PV's latest mark.
func (l *Log) putMarks(ctx context.Context, marks []store.PVMark) error {
	repeated := make([]bool, len(marks))
	latest := map[string]sample.MarkKind{} // by PV: its latest mark in the batch that says a state
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range marks {
		m := &marks[i]
		if before, known := latest[m.PV]; repeatable(m.Kind) && known {
			repeated[i] = before == m.Kind
		} else if repeatable(m.Kind) {
			g.Go(func() (err error) {
				repeated[i], err = l.isStored(reading, m)
				return err
			})
		}
		if m.Kind.IsState() {
			latest[m.PV] = m.Kind
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	kept := make([]store.PVMark, 0, len(marks))
	for i := range marks {
		if !repeated[i] {
			kept = append(kept, marks[i])
		}
	}
	return l.store.PutMarks(ctx, kept...)
}

// repeatable reports whether a mark of a kind says nothing new if the previous one has its kind.
func repeatable(k sample.MarkKind) bool {
	return k == sample.Searching || k == sample.Refused || k == sample.AccessDenied
}

// maxRead limits the marks that are read before a mark is stored, because a PV may have many losses.
const maxRead = 100

// isStored reports whether the latest stored mark that says a state of the PV has the kind of m.
func (l *Log) isStored(ctx context.Context, m *store.PVMark) (bool, error) {
	read := 0
	for last, err := range l.store.LatestMarks(ctx, m.PV, math.MaxInt64) {
		if err != nil {
			return false, err
		}
		if last.Kind.IsState() {
			return last.Kind == m.Kind, nil
		}
		if read++; read == maxRead {
			break
		}
	}
	return false, nil
}
