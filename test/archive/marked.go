package archive

import (
	"slices"
	"time"
)

// tolerance is between the clock of a sample and that of its arrival, by which some
// marks are made.
const tolerance = 300 * time.Millisecond

// Unmarked returns the times of the steps of a hole that lie in no mark of a loss.
// The steps of a hole are taken to be evenly spaced.
func (h Hole) Unmarked(marks []Mark) (at []time.Time) {
	first, last := time.Unix(0, h.Last.Time), time.Unix(0, h.Next.Time)
	lossy := spans(marks)
	for i := range h.Missing() {
		t := first.Add(last.Sub(first) * time.Duration(i+1) / time.Duration(h.Missing()+1))
		if !slices.ContainsFunc(lossy, func(s [2]time.Time) bool {
			return !t.Before(s[0].Add(-tolerance)) && !t.After(s[1].Add(tolerance))
		}) {
			at = append(at, t)
		}
	}
	return at
}

// spans returns the times in which marks say that samples may be missing.
func spans(marks []Mark) (found [][2]time.Time) {
	for i, m := range marks {
		switch m.Kind {
		case "lost", "died":
			found = append(found, [2]time.Time{m.Time, m.End})
		case "disconnected":
			for _, next := range marks[i:] {
				if next.Kind == "connected" {
					found = append(found, [2]time.Time{m.Time, next.Time})
					break
				}
			}
		}
	}
	return found
}
