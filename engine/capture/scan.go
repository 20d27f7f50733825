package capture

import (
	"time"

	"varve.dev/varve/engine/sample"
)

// scanner holds back the samples of a channel in Scan mode, and gives out the
// last one of each slot of time that ends at a multiple of the period.
type scanner struct {
	held    sample.Sample // the latest of the slot at hand
	holding bool
	done    int64 // end of the latest slot given out
}

// slotEnd returns the first multiple of the period at or after a time.
func slotEnd(t int64, period time.Duration) int64 {
	p := int64(period)
	end := t - t%p
	if end < t {
		end += p
	}
	return end
}

// offer takes a sample. If it begins another slot, the one held before is given
// out through emit. It reports how many samples were passed over: 0 or 1.
func (sc *scanner) offer(s *sample.Sample, period time.Duration, emit func(*sample.Sample)) (passed uint64) {
	end := slotEnd(s.Time, period)
	if end <= sc.done {
		return 1 // its slot was given out: the sample is late
	}
	if sc.holding {
		if slotEnd(sc.held.Time, period) < end {
			sc.give(period, emit)
		} else {
			passed = 1
		}
	}
	buf := append(sc.held.Bytes[:0], s.Bytes...)
	sc.held, sc.holding = *s, true
	sc.held.Bytes = buf
	return passed
}

// tick gives out what is held of the slots that ended at or before a time.
func (sc *scanner) tick(end int64, period time.Duration, emit func(*sample.Sample)) {
	if sc.holding && slotEnd(sc.held.Time, period) <= end {
		sc.give(period, emit)
	}
}

func (sc *scanner) give(period time.Duration, emit func(*sample.Sample)) {
	sc.done, sc.holding = slotEnd(sc.held.Time, period), false
	emit(&sc.held)
}
