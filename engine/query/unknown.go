package query

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Unknown is a time in which the archive does not know which value a PV had, although it has
// earlier samples: updates did not arrive, or samples are lost.
type Unknown struct {
	// From is the first instant, and To the first instant after it, in ns since 1970. To is
	// Latest if the end is not known.
	From, To int64
	// Until is the time of the last sample that may be missing, or math.MaxInt64. The first later
	// sample ends the unknown time before To.
	Until int64
}

// Between reports whether samples may be missing between two consecutive samples at a and b.
func (u *Unknown) Between(a, b int64) bool { return u.From < b && a < u.To && a <= u.Until }

// MaxGaps bounds the gaps and losses that a request holds.
const MaxGaps = 100_000

// TooManyMarksError is returned for a PV with more marks than a request can hold.
type TooManyMarksError struct{ PV string }

// Error implements error.
func (e TooManyMarksError) Error() string {
	return fmt.Sprintf("%s has more than %d gaps and losses in this range; choose a shorter one", e.PV, MaxGaps)
}

// Unknowns returns the times in [from, to], in ns since 1970, in which the value of a PV is not
// known, sorted by From. They begin with a gap or a loss, and end when the PV is connected, because
// the server then sends the current value. A time that began before from is included if it began
// after the last connection before from.
func (r *Reader) Unknowns(ctx context.Context, pv string, from, to int64) ([]Unknown, error) {
	pv = pvname.Canonical(pv)
	before, err := r.sinceConnected(ctx, pv, from)
	if err != nil {
		return nil, err
	}
	var list []Unknown
	open := 0 // the losses in list[open:] have not ended
	marks := func(yield func(store.PVMark, error) bool) {
		for m, err := range joined(before, r.Store.Marks(ctx, pv, from+1, to)) {
			switch {
			case err != nil:
			case m.Kind == sample.Lost:
				list = append(list, Unknown{From: m.Time, To: Latest, Until: max(m.Time, m.End)})
			case m.Kind == sample.Connected:
				for i := range list[open:] {
					list[open+i].To = max(m.Time, list[open+i].Until+1)
				}
				open = len(list)
			}
			if !yield(m, err) {
				return
			}
		}
	}
	var gaps []Unknown
	for g, err := range Gaps(marks, func(k sample.MarkKind) bool { return k.IsState() && !k.Delivers() }) {
		if err == nil && len(list)+len(gaps) > MaxGaps {
			err = TooManyMarksError{pv}
		}
		if err != nil {
			return nil, err
		}
		u := Unknown{g.From, g.To, math.MaxInt64}
		if g.To == 0 {
			u.To = Latest
		}
		gaps = append(gaps, u)
	}
	list = append(list, gaps...)
	slices.SortFunc(list, func(a, b Unknown) int { return cmp.Compare(a.From, b.From) })
	return list, nil
}

// sinceConnected returns the marks of a PV from its last connection at or before a time until that
// time. Of the maxMarks marks before, it includes the losses that had not ended at that connection.
func (r *Reader) sinceConnected(ctx context.Context, pv string, at int64) (marks []store.PVMark, err error) {
	connected, earlier := int64(0), 0
	for m, err := range r.Store.LatestMarks(ctx, pv, at) {
		if err == nil && len(marks) == MaxGaps {
			err = TooManyMarksError{pv}
		}
		if err != nil {
			return nil, err
		}
		if earlier == 0 || m.Kind == sample.Lost && m.End >= connected {
			marks = append(marks, m)
		}
		if earlier == 0 && m.Kind == sample.Connected {
			connected, earlier = m.Time, 1
		} else if earlier > 0 {
			earlier++
		}
		if earlier > maxMarks {
			break
		}
	}
	slices.Reverse(marks)
	return marks, nil
}

// joined yields marks, and then others.
func joined(first []store.PVMark, rest iter.Seq2[store.PVMark, error]) iter.Seq2[store.PVMark, error] {
	return func(yield func(store.PVMark, error) bool) {
		for _, m := range first {
			if !yield(m, nil) {
				return
			}
		}
		rest(yield)
	}
}
