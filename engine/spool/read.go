package spool

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// recentBytes bounds what Recent returns, in bytes of samples.
const recentBytes = 64 << 20

// ErrTooMuch is returned when more waits of a PV than can be read at once.
var ErrTooMuch = errors.New("too much waits in the spool, as the store was away: ask for a shorter time, or later")

// Recent returns the samples of a PV that wait in rows of some shards: those with times in
// [from, to], in ns since 1970, and the last ones at or before from, in the order in which
// they were put. If they take more than 64 MiB it returns ErrTooMuch.
func (s *Spool) Recent(pv string, from, to int64, shards ...int) ([]*sample.Run, error) {
	sel := selection{from: from, to: to, before: math.MinInt64, room: recentBytes}
	for _, c := range s.lookInto(shards) {
		err := c.with(s.fs, c.size, func(r *reader) error { return r.latest(pv, c.last, c.sent, sel.add) })
		switch {
		case sel.room < 0:
			return nil, ErrTooMuch
		case err != nil && !errors.Is(err, os.ErrNotExist): // one that is gone was sent, so it is read from the journal; or dropped
			s.metrics.Failures.Inc()
			return nil, fmt.Errorf("reading %s: %w", c.path, err)
		}
	}
	slices.Reverse(sel.found)
	return sel.found, nil
}

// selection is the samples in a range of time, and the last ones at or before its begin.
type selection struct {
	from, to int64
	before   int64         // the last time at or before from
	found    []*sample.Run // the latest first
	room     int           // bytes that may still be found
}

// add adds what is wanted of a run that was put before those of earlier calls, and reports
// whether there is room for more.
func (s *selection) add(run *sample.Run) bool {
	run = run.Within(s.from, s.to)
	if last := run.LastBefore(s.from); last > s.before {
		s.before = last
		s.found = slices.DeleteFunc(s.found, s.needless)
	}
	if !s.needless(run) {
		s.found = append(s.found, run)
		s.room -= run.Size()
	}
	return s.room >= 0
}

// needless reports whether all samples of a run are before the last ones at or before the
// begin of the range.
func (s *selection) needless(run *sample.Run) bool {
	return !slices.ContainsFunc(run.Times, func(t int64) bool { return t >= s.before })
}

// part is the rows of a shard in a segment.
type part struct {
	*segment
	size, last int64
	sent       store.Position
}

// lookInto returns the parts that may hold rows of some shards, the latest first.
func (s *Spool) lookInto(shards []int) (parts []part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range slices.Backward(s.segments) {
		for _, shard := range shards {
			if c := g.chains[shard]; c != nil && c.samples > 0 {
				parts = append(parts, part{g, g.size, c.last, c.sent})
			}
		}
	}
	return parts
}

// latest calls yield with the samples of a PV, the latest first, in the rows of a
// chain that ends at an offset and follow a position, until it wants no more.
func (r *reader) latest(pv string, last int64, after store.Position, yield func(*sample.Run) bool) error {
	for rec, err := range r.back(last, after) {
		if err != nil {
			return err
		}
		runs, err := r.find(pv, &rec)
		if err != nil && !errors.Is(err, errCorrupt) { // the drainer tells of what is damaged
			return err
		}
		for _, run := range slices.Backward(runs) {
			if !yield(run) {
				return nil
			}
		}
	}
	return nil
}

// find returns the samples of a PV in the row of a record.
func (r *reader) find(pv string, rec *placed) ([]*sample.Run, error) {
	index, err := r.index(rec)
	if err != nil || !journal.Holds(index, pv) {
		return nil, err
	}
	row, err := r.row(rec)
	if err != nil {
		return nil, err
	}
	return journal.Find(row, pv)
}
