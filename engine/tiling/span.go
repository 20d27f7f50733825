package tiling

import (
	"cmp"
	"slices"
)

// span is a range of times, both ends included.
type span struct{ first, last int64 }

// recently holds the times of late samples, from the latest two checkpoints that had any.
type recently struct {
	round       int
	now, before []span
}

// note adds spans.
func (l *recently) note(round int, spans []span) {
	if l.round != round {
		l.round, l.before, l.now = round, l.now, nil
	}
	for _, s := range spans {
		l.now = addSpan(l.now, s)
	}
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

// maxSpans bounds the length of a list of spans. If the list is full, addSpan and joinSpan join
// a new span with the last one.
const maxSpans = 16

// addSpan adds a span to a list, and joins it with the spans that it overlaps.
func addSpan(spans []span, s span) []span { return joinSpan(spans, s, 0) }

// joinSpan adds a span to a list, and joins it with the spans that are at most a gap apart.
func joinSpan(spans []span, s span, gap int64) []span {
	spans = slices.DeleteFunc(spans, func(o span) bool {
		if o.first > s.last && o.first-s.last > gap || s.first > o.last && s.first-o.last > gap {
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

// mergeSpans returns the spans in order of time. It joins those that are at most a gap apart.
func mergeSpans(spans []span, gap int64) (out []span) {
	spans = slices.SortedFunc(slices.Values(spans), func(a, b span) int { return cmp.Compare(a.first, b.first) })
	for _, s := range spans {
		if n := len(out); n > 0 && s.first-out[n-1].last <= gap {
			out[n-1].last = max(out[n-1].last, s.last)
		} else {
			out = append(out, s)
		}
	}
	return out
}
