package archive

import (
	"slices"
	"time"
)

// tolerance is the allowed difference between the time stamp of a sample and the time of its
// arrival. Some marks use the time of arrival.
const tolerance = 300 * time.Millisecond

// Unmarked returns the times of the missing steps that are not explained by a mark of a loss.
// It assumes that the steps in a hole are evenly spaced.
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

// spans returns the time spans in which samples may be missing according to marks.
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
