package soak

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Fault is a fault as the scheduler sees it.
type Fault struct {
	// Name identifies the fault.
	Name string
	// Exclusive is true if the fault takes an engine away, or something that engines need.
	// The next exclusive fault must wait until the archive has recovered, because an archive
	// with redundancy 2 survives the loss of one engine at a time.
	Exclusive bool
	// Least and Most bound the length of an outage. Both are 0 if the fault has no outage.
	Least, Most time.Duration
}

// Event is one occurrence of a fault.
type Event struct {
	// Fault is the name of the fault.
	Fault string
	// Pause is the time between the recovery from the previous event of the sequence and this
	// event.
	Pause time.Duration
	// Lasts is the length of the outage.
	Lasts time.Duration
	// Choice chooses among the variants of the fault, such as the engine that it strikes.
	Choice uint64
}

// String describes the event.
func (e Event) String() string {
	text := fmt.Sprintf("%s after %v (choice %d)", e.Fault, e.Pause, e.Choice)
	if e.Lasts > 0 {
		text += fmt.Sprintf(", for %v", e.Lasts)
	}
	return text
}

// Sequence is an endless sequence of events that follow each other. A seed determines it. It is
// not safe for concurrent use.
type Sequence struct {
	rng      *rand.Rand
	faults   []Fault
	left     []Fault // faults that have not happened in this round
	maxPause time.Duration
}

// Pauses between the events of a sequence.
const (
	minPause          = 2 * time.Second
	maxExclusivePause = 15 * time.Second
	maxOtherPause     = 40 * time.Second
)

// Plan returns the sequence of the exclusive faults and the sequence of the others. Events of
// different sequences may overlap. The order of the faults does not matter.
func Plan(seed uint64, faults []Fault) (exclusive, others *Sequence) {
	exclusive = newSequence(seed, 1, faults, true, maxExclusivePause)
	return exclusive, newSequence(seed, 2, faults, false, maxOtherPause)
}

func newSequence(seed, number uint64, faults []Fault, exclusive bool, maxPause time.Duration) *Sequence {
	s := &Sequence{rng: rand.New(rand.NewPCG(seed, number)), maxPause: maxPause}
	for _, f := range faults {
		if f.Exclusive == exclusive {
			s.faults = append(s.faults, f)
		}
	}
	slices.SortFunc(s.faults, func(a, b Fault) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// Next returns the next event. It reports false if the sequence has no faults. Each fault happens
// once before any happens again.
func (s *Sequence) Next() (e Event, ok bool) {
	if len(s.faults) == 0 {
		return e, false
	}
	if len(s.left) == 0 {
		s.left = slices.Clone(s.faults)
		s.rng.Shuffle(len(s.left), func(i, k int) { s.left[i], s.left[k] = s.left[k], s.left[i] })
	}
	f := s.left[0]
	s.left = s.left[1:]
	return Event{
		Fault:  f.Name,
		Pause:  s.between(minPause, s.maxPause),
		Lasts:  s.between(f.Least, f.Most),
		Choice: uint64(s.rng.Uint32()), // short enough to read
	}, true
}

// between returns a random time between two times, in whole tenths of a second.
func (s *Sequence) between(least, most time.Duration) time.Duration {
	const unit = 100 * time.Millisecond
	return least + time.Duration(s.rng.Int64N(int64(most-least+unit))).Truncate(unit)
}
