package mark

import (
	"context"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
)

// UseClock makes the log correct marks whose times come from a clock of which nothing was known. An engine
// that starts while the store is away has such a clock. Its marks wait for the store, whose servers tell the
// time. UseClock must be called before Add and Run.
func (l *Log) UseClock(c *clock.Clock) { l.clock = c }

// guess returns the epoch by which the times of a mark are known now, or 0 if the clock is known to be right
// or wrong, so that they need no correction.
func (l *Log) guess() int64 {
	if l.clock == nil {
		return 0
	}
	at, known := l.clock.Epoch()
	if known {
		return 0
	}
	return at
}

// revise corrects the marks of a batch that has guesses, if the clock is known by now. It asks the servers of
// the store, because nobody may have done so since the store is back.
func (l *Log) revise(ctx context.Context, batch []entry) {
	guessed := false
	for i := range batch {
		guessed = guessed || batch[i].guess != 0
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
		if e := &batch[i]; e.guess != 0 {
			if by := at - e.guess; by > negligible || by < -negligible {
				e.mark.Mark = moved(e.mark.Mark, by)
			}
			e.guess = 0
		}
	}
}

// negligible is a difference in ns between two readings of a clock that need not be corrected. Marks that are
// closer than that keep their order.
const negligible = int64(250 * time.Millisecond)

// moved returns a mark whose times were too early by some ns. A loss then covers the old and the new time,
// because the clock may have been set in between. A point in time moves.
func moved(m sample.Mark, by int64) sample.Mark {
	if m.End == 0 {
		m.Time += by
		return m
	}
	m.Time, m.End = m.Time+min(by, 0), m.End+max(by, 0)
	return m
}
