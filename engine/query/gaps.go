package query

import (
	"iter"

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
// While a shard moves, two engines capture the PV. If the first one is disconnected after the
// second one was connected, updates still arrive.
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
			case m.Kind == sample.Disconnected && by != store.WriterID{} && by != m.Writer:
			case gap.Kind == 0 && begins(m.Kind):
				gap = Gap{From: m.Time, Kind: m.Kind}
			}
		}
		if gap.Kind != 0 {
			yield(gap, nil)
		}
	}
}
