package spool

import (
	"errors"
	"os"
	"slices"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// recentBytes bounds what Recent returns, in bytes of samples.
const recentBytes = 64 << 20

// Recent returns the samples of a PV that wait in rows of some shards, in the order
// in which they were put. Of a PV of which very much waits these are the latest.
func (s *Spool) Recent(pv string, shards ...int) []*sample.Run {
	var found []*sample.Run // the latest first
	room := recentBytes
	for _, c := range s.lookInto(shards) {
		err := c.with(s.fs, c.size, func(r *reader) error {
			return r.latest(pv, c.last, c.sent, func(run *sample.Run) bool {
				found = append(found, run)
				room -= run.Size()
				return room > 0
			})
		})
		// A file that is gone was sent, so it is read from the journal; or dropped.
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			s.metrics.Failures.Inc()
			s.cfg.Log.Error("reading the spool for a query", "file", c.path, "err", err)
		}
		if room <= 0 {
			s.cfg.Log.Warn("a query misses the oldest samples that wait in the spool: they are too many", "pv", pv)
			break
		}
	}
	slices.Reverse(found)
	return found
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
