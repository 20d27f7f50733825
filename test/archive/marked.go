package archive

import (
	"slices"
	"time"
)

// tolerance is the allowed difference between the time stamp of a sample and the time of its
// arrival. Some marks use the time of arrival.
const tolerance = 300 * time.Millisecond

// Span is a time span in which samples may be missing.
type Span struct{ Begin, End time.Time }

// contains reports whether t is in the span, or less than slack outside of it.
func (s Span) contains(t time.Time, slack time.Duration) bool {
	return !t.Before(s.Begin.Add(-slack)) && !t.After(s.End.Add(slack))
}

// Within reports whether t is in one of the spans, or less than slack outside of it.
func Within(spans []Span, t time.Time, slack time.Duration) bool {
	return slices.ContainsFunc(spans, func(s Span) bool { return s.contains(t, slack) })
}

// Unmarked returns the times of the missing steps that are not explained by a mark of a loss.
// It assumes that the steps in a hole are evenly spaced.
func (h Hole) Unmarked(marks []Mark) (at []time.Time) {
	first, last := time.Unix(0, h.Last.Time), time.Unix(0, h.Next.Time)
	lossy := Losses(marks)
	for i := range h.Missing() {
		t := first.Add(last.Sub(first) * time.Duration(i+1) / time.Duration(h.Missing()+1))
		if !Within(lossy, t, tolerance) {
			at = append(at, t)
		}
	}
	return at
}

// Losses returns the time spans in which samples may be missing according to marks.
func Losses(marks []Mark) (found []Span) {
	for i, m := range marks {
		switch m.Kind {
		case "lost", "died":
			found = append(found, Span{m.Time, m.End})
		case "disconnected", "searching":
			for _, next := range marks[i:] {
				if next.Kind == "connected" {
					found = append(found, Span{m.Time, next.Time})
					break
				}
			}
		}
	}
	return found
}
