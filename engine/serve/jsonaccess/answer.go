package jsonaccess

import (
	"context"
	"iter"
	"math"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
)

// answer writes the items of a PV in order of time: samples or bins, merged with events.
type answer struct {
	*list
	reader     *query.Reader
	pv         string
	start, end int64

	history *history
	events  *cursor
	inGap   bool  // the last item has no value
	at      int64 // time of the last item
	lost    *query.Losses
	last    held // the last value at or before that time
}

// held is sample i of a run. The run is nil if there is no sample.
type held struct {
	run *sample.Run
	i   int
}

// write writes all items.
func (a *answer) write(ctx context.Context, s *source) error {
	var err error
	if s.bins == nil {
		err = a.runs(ctx, s.runs)
	} else if err = a.follow(ctx, s.before, rollup.Floor(a.start, s.bins.Width), s.bins.Width); err == nil {
		err = a.bins(ctx, s.bins.All)
	}
	if err == nil && a.history == nil { // there were no samples
		err = a.follow(ctx, a.start, a.start, 0)
	}
	if err != nil {
		return err
	}
	a.SetLost(a.lost.Count())
	return a.reachEnd(s.after)
}

// follow begins to follow metadata and events from a time on. It skips the events up to the start
// of the range, and those of gaps that are too short. If the PV has no value at the start, it
// writes that.
func (a *answer) follow(ctx context.Context, from, start, shortest int64) (err error) {
	if a.history, err = newHistory(a.reader.MetadataHistory(ctx, a.pv, from, query.Latest)); err != nil {
		return err
	}
	if a.events, err = newCursor(findEvents(a.reader.Marks(ctx, a.pv, from, query.Latest), shortest)); err != nil {
		return err
	}
	var latest event
	for a.events.more && a.events.at <= start {
		latest = a.events.event
		if err := a.events.read(); err != nil {
			return err
		}
	}
	if latest.status == "" {
		return nil
	}
	return a.noValue(latest)
}

// noteCompleteUntil tells the client that samples which were received after a time are missing, if
// the time is in the range.
func (a *answer) noteCompleteUntil(until int64) {
	if until < a.end {
		a.SetCompleteUntil(until)
	}
}

// stop ends what follow began.
func (a *answer) stop() {
	if a.history != nil {
		a.history.stop()
	}
	if a.events != nil {
		a.events.stop()
	}
}

// runs writes samples.
func (a *answer) runs(ctx context.Context, runs iter.Seq2[*sample.Run, error]) error {
	for r, err := range runs {
		if err == nil && a.history == nil {
			err = a.follow(ctx, min(a.start, r.Times[0]), a.start, 0)
		}
		if err == nil {
			err = a.run(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) run(r *sample.Run) error {
	for i, t := range r.Times {
		if err := a.upTo(t); err != nil {
			return err
		}
		a.last = held{r, i}
		if a.inGap && t <= a.at {
			continue // the PV lost this value before the range
		}
		if err := a.sample(r, i, t, original); err != nil {
			return err
		}
	}
	a.last = held{}
	if a.events.more { // an event may need the value after the run has become invalid
		var one sample.Run
		r.Part(&one, r.Len()-1, r.Len())
		a.last.run = one.Clone()
	}
	return nil
}

// upTo writes the events before a time.
func (a *answer) upTo(t int64) error {
	for a.events.more && a.events.at < t {
		if err := a.event(); err != nil {
			return err
		}
	}
	return nil
}

// event writes the next event. If a PV has a value again and no new sample, it has the old value.
func (a *answer) event() (err error) {
	e := a.events.event
	switch {
	case e.status != "":
		err = a.noValue(e)
	case a.inGap && a.last.run != nil:
		err = a.sample(a.last.run, a.last.i, max(a.at, e.at), interpolated)
	}
	if err != nil {
		return err
	}
	return a.events.read()
}

// reachEnd writes the remaining events, and the first item at or after the end of the range.
func (a *answer) reachEnd(after *sample.Run) error {
	if err := a.upTo(a.end); err != nil {
		return err
	}
	next := int64(math.MaxInt64)
	if after != nil {
		next = after.Times[0]
	}
	for a.at < a.end && a.events.more && a.events.at < next {
		if err := a.event(); err != nil {
			return err
		}
	}
	if a.at >= a.end || after == nil {
		return nil
	}
	return a.sample(after, 0, next, original)
}

// noValue writes an item that says why the PV has no value from a time on.
func (a *answer) noValue(e event) error {
	a.beginItem()
	a.inGap, a.at = true, max(a.at, e.at)
	a.Buf = appendHead(a.Buf, a.at, sample.Invalid, false, e.status, original)
	a.Buf = value.AppendString(append(a.Buf, `,"type":"string","value":[`...), e.status)
	a.Buf = append(a.Buf, "]}"...)
	return a.endItem()
}

// sample writes the value of sample i of a run as an item of a time.
func (a *answer) sample(r *sample.Run, i int, at int64, quality string) error {
	if err := a.history.at(at); err != nil {
		return err
	}
	a.beginItem()
	a.inGap, a.at = false, at
	a.Buf = appendHead(a.Buf, at, r.Tags[i].Severity(), true, r.Tags[i].StatusName(), quality)
	typ := typeOf(r, i)
	switch typ {
	case typeEnum:
		a.Buf = append(a.Buf, a.history.states...)
	case typeDouble, typeLong:
		a.Buf = append(a.Buf, a.history.numeric...)
	}
	a.Buf = append(append(append(a.Buf, `,"type":"`...), typ...), `","value":`...)
	a.Buf = append(appendValue(a.Buf, r, i, typ), '}')
	return a.endItem()
}
