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
// time. UseClock must be called before Add and Run, and before the clock gives a time to a mark.
func (l *Log) UseClock(c *clock.Clock) { l.clock, l.began = c, c.Boot() }

// guess says how the times of a mark can be corrected once the clock is known.
type guess struct {
	// made means that nothing was known of the clock. Otherwise the times need no correction.
	made bool
	// least and most are the earliest and the latest time, in ns since 1970, at which the clock since boot stood at 0, by
	// the clock when the mark was added. They differ if the clock was set while a loss grew.
	least, most int64
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
	return guess{true, at, at}
}

// with returns the guess about a mark whose times come partly from g and partly from o.
func (g guess) with(o guess) guess {
	return guess{g.made, min(g.least, o.least), max(g.most, o.most)}
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
	lived := l.lived(at)
	lived.to = max(lived.to, l.clock.Now().End)
	for i := range batch {
		if e := &batch[i]; e.guess.made {
			if by := (span{at - e.guess.most, at - e.guess.least}); by.to > negligible || by.from < -negligible {
				e.mark.Mark = moved(e.mark.Mark, by, lived)
			}
			e.guess = guess{}
		}
	}
}

// lived returns the time from the start of the engine until now, by a clock that showed epoch, in ns since 1970, when the
// clock since boot stood at 0.
func (l *Log) lived(epoch int64) span {
	return span{epoch + int64(l.began), epoch + int64(l.clock.Boot())}
}

const (
	// negligible is a difference in ns between two readings of a clock that need not be corrected. Marks that
	// are closer than that keep their order.
	negligible = int64(250 * time.Millisecond)
	// sometimes is the largest correction in ns after which a loss covers the old and the new time. A clock that shows
	// the local time instead of UTC is off by less. A longer loss would hide too much.
	sometimes = int64(24 * time.Hour)
)

// span is a range of times or of differences, in ns.
type span struct{ from, to int64 }

// distance returns how far a time is from the span. It is 0 up to clock.Widest beyond the ends of the span, because
// a mark may begin or end that far from the clock's time.
func (s span) distance(t int64) uint64 {
	from, to := s.from-int64(clock.Widest), s.to+int64(clock.Widest)
	switch {
	case t < from:
		return uint64(from) - uint64(t)
	case t > to:
		return uint64(t) - uint64(to)
	}
	return 0
}

// moved returns a mark with corrected times. The clock that gave them was behind by some ns. by is this difference. It is a
// span, because it changes if the clock is set while a loss grows. lived is the time from the start of the engine until
// now. The clock gave all its times in lived, so a loss that grew for hours, and waited for the store for hours, is
// corrected as a whole.
//
// A point in time moves. A loss covers the old and the new times of its ends, because the clock may have been set
// before the mark was added. After a large correction, such a loss would hide days or years. An end then moves if only
// this clock can have given its time, and stays if only an IOC can. moved compares the end with lived by both clocks:
// the closer clock gave it. IOCs also gave the times of samples that an earlier process left in the spool, so an IOC may
// always have given a time within a day of lived.
//
// No end moves past now, because nothing later is lost yet.
func moved(m sample.Mark, by, lived span) sample.Mark {
	if m.End == 0 {
		m.Time += by.from
		return m
	}
	unsure := max(by.to, -by.from) <= sometimes
	shown := span{lived.from - by.to, lived.to - by.from} // lived, as the clock showed it
	from, to := m.Time, m.End
	m.Time, m.End = math.MaxInt64, math.MinInt64
	for _, t := range [...]int64{from, to} {
		ours, other := shown.distance(t), lived.distance(t)
		if unsure || ours <= other {
			m.Time, m.End = min(m.Time, t+by.from, lived.to), max(m.End, min(t+by.to, lived.to))
		}
		if unsure || other <= ours || other <= uint64(sometimes) {
			m.Time, m.End = min(m.Time, t), max(m.End, t)
		}
	}
	return m
}
