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

// recentBytes is the maximum size of the samples that Recent returns, in bytes.
const recentBytes = 64 << 20

// ErrTooMuch is returned if more samples of a PV wait than a reader can read at once.
var ErrTooMuch = errors.New("too many samples wait in the spool, because the store was unreachable: request a shorter time range, or try again later")

// Recent returns the samples of a PV that wait in rows of the given shards. It returns the
// samples with times in [from, to], in ns since 1970, and those with the last time at or
// before from. They are in the order in which they were put. If they take more than 64 MiB,
// Recent returns ErrTooMuch.
func (s *Spool) Recent(pv string, from, to int64, shards ...int) ([]*sample.Run, error) {
	sel := selection{from: from, to: to, before: math.MinInt64, room: recentBytes}
	for _, c := range s.parts(shards) {
		err := c.with(s.fs, c.size, func(r *reader) error { return r.latest(pv, c.last, c.sent, sel.add) })
		switch {
		case sel.room < 0:
			return nil, ErrTooMuch
		case err != nil && !errors.Is(err, os.ErrNotExist): // a missing file was sent, so the journal has its rows, or it was dropped
			s.metrics.Failures.Inc()
			return nil, fmt.Errorf("reading %s: %w", c.path, err)
		}
	}
	slices.Reverse(sel.found)
	return sel.found, nil
}

// selection collects the samples in a time range, and those with the last time at or before
// its start.
type selection struct {
	from, to int64
	before   int64         // the last time at or before from
	found    []*sample.Run // the latest first
	room     int           // bytes that may still be found
}

// add adds the wanted samples of a run. Each call must pass an earlier run than the previous
// call. add reports whether there is room for more.
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

// needless reports whether all samples of a run are older than the samples with the last time
// at or before the start of the range.
func (s *selection) needless(run *sample.Run) bool {
	return !slices.ContainsFunc(run.Times, func(t int64) bool { return t >= s.before })
}

// part is the rows of one shard in a segment.
type part struct {
	*segment
	size, last int64
	sent       store.Position
}

// parts returns the parts that may hold rows of the given shards, the latest first.
func (s *Spool) parts(shards []int) (parts []part) {
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

// latest calls yield with the samples of a PV, the latest first. It follows the chain from the
// row at offset last back to the position after, or until yield returns false.
func (r *reader) latest(pv string, last int64, after store.Position, yield func(*sample.Run) bool) error {
	for rec, err := range r.back(last, after) {
		if err != nil {
			return err
		}
		runs, err := r.find(pv, &rec)
		if err != nil && !errors.Is(err, errCorrupt) { // the drainer reports damaged rows
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
	if err != nil {
		return nil, err
	}
	if held, err := journal.Holds(index, pv); err != nil || !held {
		return nil, nil // the drainer reports damaged rows
	}
	row, err := r.row(rec)
	if err != nil {
		return nil, err
	}
	return journal.Find(row, pv)
}
