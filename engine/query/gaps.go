package query

import (
	"context"
	"iter"
	"slices"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Gap is a time in which no updates of a PV arrived.
type Gap struct {
	// From is when the gap began, and To when the next connection ended it, in ns since 1970. To
	// is 0 if it has not ended.
	From, To int64
	// Kind is the kind of the mark with which the gap began.
	Kind sample.MarkKind
}

// Gaps yields the gaps of a PV from its marks, which are sorted by time. begins says which kinds of
// marks begin a gap.
//
// While a shard moves, or with redundancy 2, two engines capture the PV. If the first one is disconnected
// or disabled after the second one was connected, updates still arrive.
func Gaps(marks iter.Seq2[store.PVMark, error], begins func(k sample.MarkKind) bool) iter.Seq2[Gap, error] {
	return func(yield func(Gap, error) bool) {
		var gap Gap
		var by store.WriterID // the latest writer that was connected
		for m, err := range marks {
			switch {
			case err != nil:
				yield(Gap{}, err)
				return
			case m.Kind == sample.Connected:
				if gap.To = m.Time; gap.Kind != 0 && !yield(gap, nil) {
					return
				}
				gap, by = Gap{}, m.Writer
			case endsOneEngine(m.Kind) && by != store.WriterID{} && by != m.Writer:
			case gap.Kind == 0 && begins(m.Kind):
				gap = Gap{From: m.Time, Kind: m.Kind}
			}
		}
		if gap.Kind != 0 {
			yield(gap, nil)
		}
	}
}

// endsOneEngine reports whether a mark of a kind says only that its own engine gets no updates any more.
func endsOneEngine(k sample.MarkKind) bool { return k == sample.Disconnected || k == sample.Disabled }

// GapMarks yields the marks from which Gaps finds the gaps that end in [from, to] or later, and the
// last gap that ended before from. All times are in ns since 1970. It begins at most maxMarks marks
// before from.
func (r *Reader) GapMarks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error] {
	return func(yield func(store.PVMark, error) bool) {
		before, err := r.sinceLastGap(ctx, pv, from)
		if err != nil {
			yield(store.PVMark{}, err)
			return
		}
		joined(before, r.Marks(ctx, pv, from+1, to))(yield)
	}
}

// sinceLastGap returns the marks of state at or before a time, by time. They begin with the connection
// before the last gap that has ended, so that they show which writer was connected.
func (r *Reader) sinceLastGap(ctx context.Context, pv string, at int64) (marks []store.PVMark, err error) {
	read, connected := 0, -1 // connected is the index of the earliest connection in marks
	for m, err := range r.Store.LatestMarks(ctx, pvname.Canonical(pv), at) {
		if err != nil {
			return nil, err
		}
		if m.Kind.IsState() {
			marks = append(marks, m)
		}
		if m.Kind == sample.Connected {
			if connected >= 0 && slices.ContainsFunc(marks[connected:], func(g store.PVMark) bool {
				return !g.Kind.Delivers() && (!endsOneEngine(g.Kind) || g.Writer == m.Writer)
			}) {
				break
			}
			connected = len(marks) - 1
		}
		if read++; read == maxMarks {
			break
		}
	}
	slices.Reverse(marks)
	return marks, nil
}
