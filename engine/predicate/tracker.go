package predicate

import (
	"cmp"
	"math"
	"slices"

	"varve.dev/varve/engine/query"
)

// tracker follows when the value of a PV is unknown, in order of time.
type tracker struct {
	src *source
	// later are the unknown times that begin later, by time, and active those that have begun and
	// not ended.
	later, active []query.Unknown
	losses, notes int // of src that are in later or active
	now           int64
}

// newTracker returns a tracker that begins at a time.
func newTracker(src *source, from int64) *tracker {
	t := &tracker{src: src, now: from}
	t.refresh()
	return t
}

// refresh adds what reads have found out in the meantime.
func (t *tracker) refresh() {
	added := false
	for _, u := range t.src.unknown[t.notes:] {
		t.later, added = append(t.later, u), true
	}
	t.notes = len(t.src.unknown)
	marks := t.src.lost.Marks()
	for _, m := range marks[t.losses:] {
		t.later, added = append(t.later, query.Unknown{From: m.Time, To: query.Latest, Until: max(m.Time, m.End)}), true
	}
	t.losses = len(marks)
	if added {
		slices.SortFunc(t.later, func(a, b query.Unknown) int { return cmp.Compare(a.From, b.From) })
	}
}

// advance moves to a time. last is the time of the last sample until then.
func (t *tracker) advance(at, last int64) {
	t.now = at
	n := 0
	for n < len(t.later) && t.later[n].From <= at {
		t.active = append(t.active, t.later[n])
		n++
	}
	t.later = t.later[n:]
	t.active = slices.DeleteFunc(t.active, func(u query.Unknown) bool { return u.To <= at || u.Until < last })
}

// change returns the next time at which the value becomes unknown or known, except for a sample.
func (t *tracker) change() int64 {
	next := int64(math.MaxInt64)
	if len(t.later) > 0 {
		next = t.later[0].From
	}
	for i := range t.active {
		next = min(next, t.active[i].To)
	}
	return max(next, t.now+1)
}

// window returns whether the value is unknown at some or all times before end. last is a lower
// bound of the time of the last sample.
func (t *tracker) window(from, end, last int64) (some, all bool) {
	t.advance(from, last)
	for _, u := range t.active {
		some = true
		all = all || u.Until == math.MaxInt64 && u.To >= end
	}
	return some || len(t.later) > 0 && t.later[0].From < end, all
}
