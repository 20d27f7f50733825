package tiling

import "slices"

// span is a range of times, both ends included.
type span struct{ first, last int64 }

// recently holds the times of late samples, from the latest two checkpoints that had any.
type recently struct {
	round       int
	now, before []span
}

// note adds sorted times.
func (l *recently) note(round int, times []int64) {
	if l.round != round {
		l.round, l.before, l.now = round, l.now, nil
	}
	l.now = addSpan(l.now, span{times[0], times[len(times)-1]})
}

// spansOf returns spans of sorted times. It joins times that are at most a gap apart.
func spansOf(times []int64, gap int64) (spans []span) {
	for _, t := range times {
		if n := len(spans); n > 0 && t-spans[n-1].last <= gap {
			spans[n-1].last = t
		} else {
			spans = append(spans, span{t, t})
		}
	}
	return spans
}

// maxSpans bounds the length of a list of spans. If the list is full, addSpan joins a new span
// with the last one.
const maxSpans = 16

// addSpan adds a span to a list, and joins it with the spans that it overlaps.
func addSpan(spans []span, s span) []span {
	spans = slices.DeleteFunc(spans, func(o span) bool {
		if o.first > s.last || s.first > o.last {
			return false
		}
		s = span{min(s.first, o.first), max(s.last, o.last)}
		return true
	})
	if n := len(spans); n >= maxSpans {
		s = span{min(s.first, spans[n-1].first), max(s.last, spans[n-1].last)}
		spans = spans[:n-1]
	}
	return append(spans, s)
}
