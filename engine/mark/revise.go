package mark

import (
	"context"
	"math"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
)

// UseClock makes the log correct marks whose times come from a clock of which nothing was known. An engine
// that starts while the store is away has such a clock. Its marks wait for the store, whose servers tell the
// time. UseClock must be called before Add and Run.
func (l *Log) UseClock(c *clock.Clock) { l.clock = c }

// guess says how the times of a mark can be corrected once the clock is known.
type guess struct {
	// made means that nothing was known of the clock. Otherwise the times need no correction.
	made bool
	// epoch is when the clock since boot stood at 0, in ns since 1970, by the clock when the mark was added.
	epoch int64
	// boot is the time since boot when the mark was added.
	boot time.Duration
}

// guess returns how the times of a mark that is added now can be corrected.
func (l *Log) guess() guess {
	if l.clock == nil {
		return guess{}
	}
	at, known := l.clock.Epoch()
	if known {
		return guess{}
	}
	return guess{true, at, l.clock.Boot()}
}

// revise corrects the marks of a batch that has guesses, if the clock is known by now. It asks the servers of
// the store, because nobody may have done so since the store is back.
func (l *Log) revise(ctx context.Context, batch []entry) {
	guessed := false
	for i := range batch {
		guessed = guessed || batch[i].guess.made
	}
	if !guessed {
		return
	}
	if !l.clock.Answered() {
		l.clock.Ask(ctx)
	}
	at, known := l.clock.Epoch()
	if !known {
		return
	}
	for i := range batch {
		if e := &batch[i]; e.guess.made {
			if by := at - e.guess.epoch; by > negligible || by < -negligible {
				e.mark.Mark = moved(e.mark.Mark, by, at+int64(e.guess.boot))
			}
			e.guess = guess{}
		}
	}
}

const (
	// negligible is a difference in ns between two readings of a clock that need not be corrected. Marks that
	// are closer than that keep their order.
	negligible = int64(250 * time.Millisecond)
	// sometimes is the largest correction in ns after which a loss covers the old and the new time. A clock that shows
	// the local time instead of UTC is off by less. A longer loss would hide too much.
	sometimes = int64(24 * time.Hour)
)

// moved returns a mark that was added at a time, in ns since 1970, when the clock was behind by some ns. A point
// in time moves. A loss covers the old and the new time of its ends, because the clock may have been set in
// between. After a large correction, such a loss would hide days or years. An end then moves if this clock gave its
// time, and stays if an IOC gave it. moved compares the end with the present time of both clocks: the closer one gave
// it.
func moved(m sample.Mark, by, added int64) sample.Mark {
	if m.End == 0 {
		m.Time += by
		return m
	}
	from, to := m.Time, m.End
	m.Time, m.End = math.MaxInt64, math.MinInt64
	for _, t := range [...]int64{from, to} {
		old, fresh := distance(t, added-by), distance(t, added)
		unsure := distance(by, 0) <= uint64(sometimes)
		if unsure || old < fresh {
			m.Time, m.End = min(m.Time, t+by), max(m.End, t+by)
		}
		if unsure || old >= fresh {
			m.Time, m.End = min(m.Time, t), max(m.End, t)
		}
	}
	return m
}

// distance returns the time in ns between two times.
func distance(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }
