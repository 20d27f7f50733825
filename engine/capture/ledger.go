package capture

import (
	"math"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
)

// ledger counts the dropped samples of a channel. It gathers losses into one mark per
// reason until emitLosses is called.
type ledger struct {
	dropped [sample.NumReasons]uint64
	open    [sample.NumReasons]loss

	suspected      uint64 // times that updates may have been lost
	withinDeadband uint64 // times that the record had no reason to send an update
	suspect        suspicion
}

// loss is a series of lost samples that has no mark yet.
type loss struct {
	count    uint64
	from, to int64 // bounds of the arrivals, ns since 1970
}

// drop counts n samples that were dropped at an instant.
func (l *ledger) drop(r sample.Reason, n uint64, at clock.Instant) {
	l.dropped[r] += n
	if !r.Loss() {
		return
	}
	o := &l.open[r]
	if o.count == 0 {
		o.from, o.to = at.Begin, at.End
	}
	o.count += n
	o.from, o.to = min(o.from, at.Begin), max(o.to, at.End)
}

// suspicion is a time range in which the server may have dropped updates, and which has
// no mark yet.
type suspicion struct {
	open     bool
	from, to int64         // ns since 1970
	latest   time.Duration // monotonic time at which the range was last extended
}

// Suspicions that are at most suspicionGap apart become one mark of at most suspicionMax.
const (
	suspicionGap = 10 * time.Second
	suspicionMax = time.Minute
)

// suspectLoss notes, at a monotonic time, that updates may have been lost between two times.
func (l *ledger) suspectLoss(from, to int64, now time.Duration, emit func(sample.Mark)) {
	l.suspected++
	s := &l.suspect
	joins := s.open && from <= s.to+int64(suspicionGap) && to >= s.from-int64(suspicionGap)
	if joins && max(s.to, to)-min(s.from, from) <= int64(suspicionMax) {
		from, to = min(s.from, from), max(s.to, to)
	} else if s.open {
		emit(s.mark())
	}
	*s = suspicion{open: true, from: from, to: to, latest: now}
}

func (s *suspicion) mark() sample.Mark {
	return sample.Mark{
		Time: s.from, End: s.to, Kind: sample.Lost, Reason: sample.Overrun,
		Text: "the circuit stalled: the IOC may have dropped updates",
	}
}

// emitSuspicion emits a suspicion that was not extended since a monotonic time.
func (l *ledger) emitSuspicion(before time.Duration, emit func(sample.Mark)) {
	if s := &l.suspect; s.open && s.latest <= before {
		emit(s.mark())
		*s = suspicion{}
	}
}

// emitLosses emits the losses since the previous call as marks.
func (l *ledger) emitLosses(emit func(sample.Mark)) {
	for r := range l.open {
		if o := &l.open[r]; o.count > 0 {
			emit(sample.Mark{Time: o.from, End: o.to, Kind: sample.Lost, Reason: sample.Reason(r), Count: o.count})
			*o = loss{}
		}
	}
}

// rate is the growth of a count per second, smoothed over about half a minute.
type rate struct {
	perSecond float64
	at        time.Duration // monotonic time of the last update
	count     uint64
	begun     bool // there was an update
}

// now returns the rate at a time. Before the first update it is the average since the start.
func (r *rate) now(now time.Duration, count uint64) float64 {
	if r.begun {
		return r.perSecond
	}
	seconds := (now - r.at).Seconds()
	if seconds < 1 {
		return 0
	}
	return float64(count-r.count) / seconds
}

// update adds the count at a time.
func (r *rate) update(now time.Duration, count uint64) {
	seconds := (now - r.at).Seconds()
	if seconds <= 0 {
		return
	}
	latest := float64(count-r.count) / seconds
	weight := 1 - math.Exp(-seconds/30)
	if !r.begun {
		weight = 1
	}
	r.perSecond += (latest - r.perSecond) * weight
	r.at, r.count, r.begun = now, count, true
}
