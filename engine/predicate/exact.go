package predicate

import (
	"context"
	"fmt"
	"iter"
	"math"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
)

// cursor follows the value of a PV in a part of a range, in order of time.
type cursor struct {
	*tracker
	val    value
	run    *sample.Run
	i      int // of the next sample of run
	ended  bool
	next   func() (*sample.Run, error, bool)
	stop   func()
	change int64 // the next time at which the value may change
}

// newCursor returns a cursor that begins at lo. The caller calls stop at the end.
func (s *Search) newCursor(ctx context.Context, src *source, lo, hi int64) (*cursor, error) {
	read, err := s.reader.Read(ctx, src.pv, lo, hi-1, query.Options{Lost: &src.lost})
	if err != nil {
		return nil, err
	}
	src.note(read.CompleteUntil)
	c := &cursor{tracker: newTracker(src, lo), change: lo}
	c.next, c.stop = iter.Pull2(read.All)
	at, err := c.peek()
	if err == nil && at < lo {
		err = c.start(ctx, s.reader, at)
	}
	if err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// start reads all samples of the last time before the range: a read has only one of them.
func (c *cursor) start(ctx context.Context, r *query.Reader, at int64) error {
	read, err := r.Read(ctx, c.src.pv, at, at, query.Options{Inside: true, Lost: &c.src.lost})
	if err != nil {
		return err
	}
	for run, err := range read.All {
		if err != nil {
			return err
		}
		for i := range run.Times {
			c.val.set(run, i)
		}
	}
	return nil
}

// peek returns the time of the next sample.
func (c *cursor) peek() (int64, error) {
	for !c.ended && (c.run == nil || c.i == c.run.Len()) {
		run, err, more := c.next()
		if err != nil {
			return 0, err
		}
		c.run, c.i, c.ended = run, 0, !more
		c.refresh()
	}
	if c.ended {
		return math.MaxInt64, nil
	}
	return c.run.Times[c.i], nil
}

// advance moves to a time.
func (c *cursor) advance(at int64) error {
	next, err := c.peek()
	for ; err == nil && next <= at; next, err = c.peek() {
		c.val.set(c.run, c.i)
		c.i++
	}
	last := int64(math.MinInt64)
	if c.val.exists {
		last = c.val.at
	}
	c.tracker.advance(at, last)
	c.change = min(next, c.tracker.change())
	return err
}

// exact finds the intervals in [lo, hi) from samples. It passes them to emit, until emit returns
// false.
func (s *Search) exact(ctx context.Context, lo, hi int64, emit func(Interval) bool) error {
	cursors := make([]*cursor, 0, len(s.pvs))
	defer func() {
		for _, c := range cursors {
			c.stop()
		}
	}()
	for _, src := range s.pvs {
		c, err := s.newCursor(ctx, src, lo, hi)
		if err != nil {
			return fmt.Errorf("reading %s: %w", src.pv, err)
		}
		cursors = append(cursors, c)
	}
	all := make([]results, len(s.predicate.conditions))
	for at := lo; at < hi; {
		next := hi
		for _, c := range cursors {
			if c.change <= at {
				if err := c.advance(at); err != nil {
					return fmt.Errorf("reading %s: %w", c.src.pv, err)
				}
			}
			next = min(next, c.change)
		}
		for i, cond := range s.predicate.conditions {
			c := cursors[cond.pv]
			if all[i] = results(Unknown); len(c.active) == 0 {
				all[i] = cond.eval(&c.val)
			}
		}
		if !emit(Interval{at, next, State(s.predicate.root.eval(all))}) {
			return nil
		}
		at = next
	}
	return nil
}
