package query

import (
	"context"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/store"
)

// untrust finds the ranges in which tiles may have samples that users have deleted. Bins there are computed from
// samples. Once a sealer has corrected the tiles, they are used where samples have expired: there, nothing else
// is left. Where samples exist, a former sealer may have written tiles of its own since then, so the bins are
// still computed.
func (b *binning) untrust() {
	c := &b.p.deleted
	open := store.Channel{}
	for _, d := range c.Deleted {
		if !c.IsDone(d) || rollup.Floor(max(d.From, Earliest), b.unit()) >= b.whole {
			open.Deleted = append(open.Deleted, d)
		}
	}
	b.untrusted = open.Mask()
	if m := c.OpenMask(); len(m) > 0 {
		b.staleFrom = m[0].From
	} else {
		b.staleFrom = Latest
	}
}

// coverRange finds the bins of a range: those that overlap deleted ranges from samples, and the others in tiles.
//
//	lo                                                          hi
//	│ tiles │ samples: overlaps a deleted range │ tiles           │
//	                                             └ the first stored bin is computed, too: it begins with the value before
func (b *binning) coverRange(ctx context.Context, s missing) error {
	s.stale = s.stale || b.staleFrom < s.lo
	unit := b.unit()
	for _, d := range b.untrusted.Within(s.lo, s.hi-1) {
		from := max(s.lo, rollup.Floor(d.From, unit))
		to := min(s.hi, rollup.Floor(d.To, unit)+unit)
		if to <= s.lo {
			continue
		}
		if err := b.coverAligned(ctx, missing{s.lo, from, s.stale}); err != nil {
			return err
		}
		if err := b.compute(ctx, from, to); err != nil {
			return err
		}
		s.lo, s.stale = to, true
	}
	return b.coverAligned(ctx, s)
}

// coverAligned finds the bins of a range in tiles. It takes a part of a bin of the width from the finest level.
func (b *binning) coverAligned(ctx context.Context, s missing) error {
	finest := max(0, len(b.levels)-1)
	up := min(s.hi, rollup.Floor(s.lo+b.width-1, b.width))
	down := max(up, rollup.Floor(s.hi, b.width))
	for _, part := range []struct {
		level  int
		lo, hi int64
	}{{finest, s.lo, up}, {0, up, down}, {finest, down, s.hi}} {
		if part.lo >= part.hi {
			continue
		}
		if err := b.cover(ctx, part.level, missing{part.lo, part.hi, s.stale}); err != nil {
			return err
		}
	}
	return nil
}

// mayHaveDeleted reports whether a stored bin may have deleted samples.
func (b *binning) mayHaveDeleted(bin *rollup.Bin) bool {
	return b.untrusted.Overlaps(bin.Start, bin.End()-1)
}
