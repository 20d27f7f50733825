package query

import (
	"context"
	"sort"

	"varve.dev/varve/engine/rollup"
)

// cover finds the bins of a range: those in tiles of level i, and in finer levels and
// samples what tiles do not claim, and what fresh samples change. Those change the bin
// that they are in, and the next one that has samples, as it begins with their value.
func (b *binning) cover(ctx context.Context, i int, s missing) error {
	if i == len(b.levels) {
		return b.samples(ctx, s)
	}
	l := b.levels[i]
	c := coverage{
		b: b, width: int64(l.Every()), at: s.lo, stale: s.stale,
		find: func(s missing) error { return b.cover(ctx, i+1, s) },
	}
	if b.earliest < s.hi {
		for row, err := range b.tiles(ctx, b.p.PV, l, l.Tile(max(s.lo, b.earliest)), l.Tile(s.hi-1)) {
			if err != nil {
				return err
			}
			if rollup.Decode(&c.tile, &row) != nil {
				continue // it is computed from others
			}
			if err := c.take(s.hi); err != nil {
				return err
			}
		}
	}
	if err := c.miss(s.hi); err != nil {
		return err
	}
	return c.flush()
}

// coverage goes through the tiles of a level, by time.
type coverage struct {
	b     *binning
	find  func(missing) error // elsewhere
	width int64
	at    int64   // what is before is found, or in hole
	stale bool    // fresh samples came after the last one that tiles know of
	hole  missing // adjacent bins that are to be found elsewhere
	tile  rollup.Tile
}

// take takes the bins of the tile, as far as they are before hi.
func (c *coverage) take(hi int64) error {
	if err := c.miss(min(c.tile.Since, hi)); err != nil {
		return err
	}
	end := min(c.tile.Through, hi)
	bins := c.tile.Bins[sort.Search(len(c.tile.Bins), func(i int) bool { return c.tile.Bins[i].Start >= c.at }):]
	for c.at < end {
		fresh, stored := c.b.nextFresh(c.at, end, c.width), end
		if len(bins) > 0 {
			stored = min(end, bins[0].Start)
		}
		next := min(fresh, stored)
		if next == end {
			c.at = end
			break
		}
		if err := c.bin(next, fresh == next, bins); err != nil {
			return err
		}
		if stored == next {
			bins = bins[1:]
		}
	}
	return nil
}

// bin takes the bin at t, the first of some, or leaves it for elsewhere.
func (c *coverage) bin(t int64, fresh bool, bins []rollup.Bin) error {
	if fresh || c.stale {
		err := c.open(t, t+c.width)
		c.stale = fresh
		return err
	}
	if err := c.flush(); err != nil {
		return err
	}
	c.at = t + c.width
	return c.b.join.add(&bins[0])
}

// miss leaves what is before t, and not found yet, for elsewhere.
func (c *coverage) miss(t int64) error {
	if t <= c.at {
		return nil
	}
	fresh := c.b.anyFresh(c.at, t)
	err := c.open(c.at, t)
	c.stale = c.stale || fresh
	return err
}

// open adds to the hole, or begins another one.
func (c *coverage) open(lo, hi int64) error {
	if c.hole.hi != lo || c.hole.lo == c.hole.hi {
		if err := c.flush(); err != nil {
			return err
		}
		c.hole = missing{lo: lo, stale: c.stale}
	}
	c.hole.hi, c.at = hi, hi
	return nil
}

// flush finds what is in the hole.
func (c *coverage) flush() error {
	hole := c.hole
	c.hole = missing{}
	if hole.lo == hole.hi {
		return nil
	}
	return c.find(hole)
}

// nextFresh returns the start of the first bin that has a fresh sample in [lo, hi); or hi.
func (b *binning) nextFresh(lo, hi, width int64) int64 {
	next := hi
	for _, r := range b.p.Unsealed {
		if i := sort.Search(r.Len(), func(i int) bool { return r.Times[i] >= lo }); i < r.Len() {
			next = min(next, rollup.Floor(r.Times[i], width))
		}
	}
	return next
}

// anyFresh reports whether there are fresh samples in [lo, hi).
func (b *binning) anyFresh(lo, hi int64) bool { return b.nextFresh(lo, hi, 1) < hi }
