package archive

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Tally is what came of the steps of a counting PV between the first and the last
// that was read.
type Tally struct {
	Samples int
	// Lost are steps that are missing, Doubled those that were read before.
	Lost, Doubled int
	// Holes are where steps are missing, in the order of time.
	Holes []Hole
	// Longest is the longest time between two samples.
	Longest time.Duration
	// First and Last are the ends, by number of the step; FirstTime and LastTime
	// are when they were.
	First, Last         int
	FirstTime, LastTime time.Time
}

// NewTally accounts for the samples of a PV that were read at once.
func NewTally(events []Event) (t Tally) {
	if t.Samples = len(events); t.Samples == 0 {
		return t
	}
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b Event) int { return a.number() - b.number() })
	first, last := events[0], events[t.Samples-1]
	t.First, t.Last = first.number(), last.number()
	t.FirstTime, t.LastTime = time.Unix(0, first.Time), time.Unix(0, last.Time)
	for i := 1; i < len(events); i++ {
		a, b := events[i-1], events[i]
		switch steps := b.number() - a.number(); {
		case steps == 0:
			t.Doubled++
		case steps > 1:
			t.Lost += steps - 1
			t.Holes = append(t.Holes, Hole{a, b})
		}
		t.Longest = max(t.Longest, time.Duration(b.Time-a.Time))
	}
	return t
}

// number is how many steps led to a value.
func (e Event) number() int { return int(math.Round(e.Value / Step)) }

// String says what is wrong, and the ends.
func (t Tally) String() string {
	return fmt.Sprintf("%d samples, steps %d to %d, %d lost, %d doubled, holes %v", t.Samples, t.First, t.Last, t.Lost, t.Doubled, t.Holes)
}
