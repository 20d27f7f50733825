package capture

import (
	"time"

	"varve.dev/varve/engine/sample"
)

// scanner holds back the samples of a channel in Scan mode. It emits the last sample of
// each time slot; slots end at the multiples of the period.
type scanner struct {
	held    sample.Sample // the latest sample of the current slot
	holding bool
	latest  int64 // time of the sample that came last
	done    int64 // end of the last slot whose sample was emitted
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

// offer takes a sample. If the sample begins a new slot, offer emits the held sample. It
// returns how many samples were dropped: 0 or 1. If the clock of the samples was set back, the
// slots begin again at the new time.
func (sc *scanner) offer(s *sample.Sample, period time.Duration, emit func(*sample.Sample)) (passed uint64) {
	end := slotEnd(s.Time, period)
	if end <= sc.done && s.Time >= sc.latest {
		return 1 // the sample is late: its slot has ended
	}
	sc.latest = s.Time
	switch {
	case !sc.holding:
	case slotEnd(sc.held.Time, period) == end:
		passed = 1
	default:
		sc.give(period, emit)
	}
	sc.done = min(sc.done, end-int64(period))
	buf := append(sc.held.Bytes[:0], s.Bytes...)
	sc.held, sc.holding = *s, true
	sc.held.Bytes = buf
	return passed
}

// tick emits the held sample if its slot ended at or before a time.
func (sc *scanner) tick(end int64, period time.Duration, emit func(*sample.Sample)) {
	if sc.holding && slotEnd(sc.held.Time, period) <= end {
		sc.give(period, emit)
	}
}

func (sc *scanner) give(period time.Duration, emit func(*sample.Sample)) {
	sc.done, sc.holding = slotEnd(sc.held.Time, period), false
	emit(&sc.held)
}
