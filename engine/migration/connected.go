package migration

import (
	"context"
	"fmt"
	"iter"
	"sort"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// ownStates are the times at which an engine of the archive became connected to a PV, or no longer was. Marks of the other archive
// count only while no engine is connected: if the other archiver stopped or lost its connection while an engine had one,
// updates still arrived here.
type ownStates []ownState

type ownState struct {
	at        int64 // ns since 1970
	connected bool
}

// maxOwnStates bounds the states of a PV that are held in memory. After so many, the last one counts for ever.
const maxOwnStates = 1 << 20

// readOwnStates reads the marks of engines.
func (o *one) readOwnStates(ctx context.Context) error {
	return o.try(ctx, "reading marks of "+o.name, func(ctx context.Context) (err error) {
		if o.states, err = statesOf(o.opts.Store.Marks(ctx, o.name, query.Earliest, query.Latest)); err != nil {
			err = fmt.Errorf("reading marks of %s: %w", o.name, err)
		}
		return err
	})
}

// statesOf returns the states from all marks of a PV.
func statesOf(all iter.Seq2[store.PVMark, error]) (states ownStates, err error) {
	known := false // an engine was connected once
	marks := func(yield func(store.PVMark, error) bool) {
		for m, err := range all {
			if err == nil && m.Writer == store.Imported {
				continue
			}
			if err == nil && m.Kind.Delivers() && !known {
				if known = true; len(states) == 0 {
					states = append(states, ownState{m.Time, true})
				}
			}
			if !yield(m, err) {
				return
			}
		}
	}
	for g, err := range query.Gaps(marks, func(k sample.MarkKind) bool { return k.IsState() && !k.Delivers() }) {
		if err != nil {
			return nil, err
		}
		if len(states) >= maxOwnStates {
			break
		}
		if states = append(states, ownState{g.From, false}); g.To != 0 {
			states = append(states, ownState{g.To, true})
		}
	}
	return states, nil
}

// connectedAt reports whether an engine was connected at a time.
func (s ownStates) connectedAt(at int64) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].at > at })
	return i > 0 && s[i-1].connected
}

// Mark implements Sink. Marks outside of the times to import are left out, and states while an engine was connected.
func (o *one) Mark(m sample.Mark) {
	switch {
	case m.Time < o.opts.Since || m.Time >= o.opts.Until:
	case m.Kind.IsState() && o.states.connectedAt(m.Time):
		o.overruled++
	default:
		o.marks = append(o.marks, store.PVMark{PV: o.name, Writer: store.Imported, Mark: m})
	}
}

// noteOverruled notes the marks that were left out.
func (o *one) noteOverruled() {
	if o.overruled > 0 && !o.verifying {
		o.Note(fmt.Sprintf("%d marks of connections are left out: an engine of this archive was connected at their times", o.overruled))
	}
}
