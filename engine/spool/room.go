package spool

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
)

// errFull is returned when all segments are being sent.
var errFull = errors.New("the spool is full of rows that are being sent")

// makeRoom drops the oldest segments until size more bytes fit.
func (s *Spool) makeRoom(size int64) error {
	for {
		victim, fits := s.takeVictim(size)
		switch {
		case fits:
			return nil
		case victim != nil:
			s.dropSegment(victim)
		case s.file == nil:
			return errFull
		default: // every segment but the current one is being sent
			if err := s.sync(); err != nil {
				return err
			}
			s.leaveSegment()
		}
	}
}

// takeVictim returns nil if size more bytes fit. Otherwise it removes the oldest segment that
// can be dropped from the list, and returns it.
func (s *Spool) takeVictim(size int64) (victim *segment, fits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.bytesLocked()
	if s.file != nil {
		taken += s.file.offset - s.file.size // bytes that are not durable yet
	}
	if taken+size <= s.cfg.Size {
		return nil, true
	}
	for i, g := range s.segments {
		if g != s.current && !g.sending {
			s.segments = slices.Delete(s.segments, i, i+1)
			return g, false
		}
	}
	return nil, false
}

// dropSegment deletes a segment that takeVictim returned, and counts its unsent samples.
func (s *Spool) dropSegment(g *segment) {
	if _, samples := g.waiting(); samples > 0 {
		s.metrics.Dropped.WithLabelValues(sample.Overflow.String()).Add(float64(samples))
		s.cfg.Log.Warn("the spool is full; the oldest samples are dropped", "samples", samples,
			"age", time.Duration(max(0, s.cfg.Now().Now-g.created)).Round(time.Second).String())
		if err := s.noteLost(g); err != nil {
			s.cfg.Log.Error("some dropped samples cannot be marked", "file", g.path, "err", err)
		}
		if g.ours {
			s.mu.Lock()
			s.counts.Dropped += uint64(samples)
			s.mu.Unlock()
		}
	}
	s.removeSegment(g)
}

// loss is samples of a PV that were dropped and have no mark yet.
type loss struct {
	count    uint64
	ours     uint64 // samples in count that this process put
	from, to int64  // ns since 1970
}

// noteLost adds the unsent samples of a segment to the losses of their PVs.
func (s *Spool) noteLost(g *segment) error {
	var failed error
	err := g.with(s.fs, g.size, func(r *reader) error {
		r.ahead = readAhead
		for offset := g.firstOffset(); offset < g.size; {
			rec, err := r.record(offset)
			if err != nil {
				return err
			}
			if c := g.chains[rec.shard]; c != nil && rec.at > c.sent {
				failed = cmp.Or(failed, s.noteLostRow(r, &rec, g.ours))
			}
			offset = rec.next()
		}
		return nil
	})
	return cmp.Or(err, failed)
}

func (s *Spool) noteLostRow(r *reader, rec *placed, ours bool) error {
	row, err := r.row(rec)
	if err != nil {
		return err
	}
	runs, err := journal.Decode(row)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range runs {
		l := s.lost[of.PV]
		if l == nil {
			l = &loss{from: of.Run.Times[0], to: of.Run.Times[0]}
			s.lost[of.PV] = l
		}
		l.count += uint64(of.Run.Len())
		if ours {
			l.ours += uint64(of.Run.Len())
		}
		l.from = min(l.from, slices.Min(of.Run.Times))
		l.to = max(l.to, slices.Max(of.Run.Times))
	}
	return nil
}

// takeLost calls emit with one mark for each PV that has losses without a mark.
func (s *Spool) takeLost(emit func(pv string, m sample.Mark, ours uint64)) {
	s.mu.Lock()
	lost := s.lost
	s.lost = map[string]*loss{}
	s.mu.Unlock()
	for pv, l := range lost {
		emit(pv, sample.Mark{Time: l.from, End: l.to, Kind: sample.Lost, Reason: sample.Overflow, Count: l.count}, l.ours)
	}
}
