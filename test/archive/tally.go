package archive

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Tally counts the steps of a counting PV between the first and the last sample of a read.
type Tally struct {
	// Samples is the number of samples.
	Samples int
	// Lost is the number of missing steps, and Duplicated is the number of duplicate samples.
	Lost, Duplicated int
	// Holes are the gaps in the samples, in the order of time.
	Holes []Hole
	// Longest is the longest time between two samples.
	Longest time.Duration
	// First and Last are the numbers of the first and the last step, and FirstTime and
	// LastTime are their times.
	First, Last         int
	FirstTime, LastTime time.Time
}

// NewTally returns the tally of the samples of a PV from one read.
func NewTally(events []Event) (t Tally) {
	if t.Samples = len(events); t.Samples == 0 {
		return t
	}
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b Event) int { return a.Number() - b.Number() })
	first, last := events[0], events[t.Samples-1]
	t.First, t.Last = first.Number(), last.Number()
	t.FirstTime, t.LastTime = time.Unix(0, first.Time), time.Unix(0, last.Time)
	for i := 1; i < len(events); i++ {
		a, b := events[i-1], events[i]
		switch steps := b.Number() - a.Number(); {
		case steps == 0:
			t.Duplicated++
		case steps > 1:
			t.Lost += steps - 1
			t.Holes = append(t.Holes, Hole{a, b})
		}
		t.Longest = max(t.Longest, time.Duration(b.Time-a.Time))
	}
	return t
}

// Number returns the number of steps that led to the value.
func (e Event) Number() int { return int(math.Round(e.Value / Step)) }

// String describes the tally.
func (t Tally) String() string {
	return fmt.Sprintf("%d samples, steps %d to %d, %d lost, %d duplicated, holes %v", t.Samples, t.First, t.Last, t.Lost, t.Duplicated, t.Holes)
}
