package capture

import (
	"math"
	"time"

	"varve.dev/varve/engine/sample"
)

// ledger counts the samples of a channel that were dropped. Losses are gathered
// into one mark per reason until they are taken.
type ledger struct {
	dropped [sample.NumReasons]uint64
	open    [sample.NumReasons]loss

	suspected uint64 // times that updates may have been lost
	suspect   suspicion
}

// loss is a run of lost samples that has no mark yet.
type loss struct {
	count    uint64
	from, to int64 // arrival, ns since 1970
}

// drop counts n samples dropped at a time.
func (l *ledger) drop(r sample.Reason, n uint64, at int64) {
	l.dropped[r] += n
	if !r.Loss() {
		return
	}
	o := &l.open[r]
	if o.count == 0 {
		o.from = at
	}
	o.count += n
	o.to = at
}

// suspicion is a time in which the server may have dropped updates, and that has
// no mark yet.
type suspicion struct {
	open     bool
	from, to int64 // ns since 1970
	latest   int64 // when it was last added to
}

// Suspicions that are no further apart become one mark, unless it gets too long.
const (
	suspicionGap = 10 * time.Second
	suspicionMax = time.Minute
)

// suspectLoss notes that updates may have been lost between two times.
func (l *ledger) suspectLoss(from, to, now int64, emit func(sample.Mark)) {
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

// settle gives out a suspicion that nothing was added to since a time.
func (l *ledger) settle(before int64, emit func(sample.Mark)) {
	if s := &l.suspect; s.open && s.latest <= before {
		emit(s.mark())
		*s = suspicion{}
	}
}

// take gives out the losses since the last call, as marks.
func (l *ledger) take(emit func(sample.Mark)) {
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
	at        int64 // of the last update, ns since 1970
	count     uint64
	begun     bool
}

// update takes the count at a time.
func (r *rate) update(now int64, count uint64) {
	seconds := float64(now-r.at) / 1e9
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
