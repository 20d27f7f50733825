package query

import (
	"context"
	"sort"

	"varve.dev/varve/engine/rollup"
)

// cover finds the bins of a range. It takes a bin from the tiles of level i if the tiles claim
// to be complete there and no fresh sample changes the bin. It finds the other bins in finer
// levels and in samples. A fresh sample changes two bins: the bin that contains it, and the
// next bin with samples, because that bin begins with the sample's value.
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
				continue // its bins are computed from finer levels
			}
			if err := c.addTile(s.hi); err != nil {
				return err
			}
		}
	}
	if err := c.skipTo(s.hi); err != nil {
		return err
	}
	return c.flush()
}

// coverage goes through the tiles of a level, by time.
type coverage struct {
	b     *binning
	find  func(missing) error // finds bins in finer levels or samples
	width int64
	at    int64   // bins before this time are found or in hole
	stale bool    // fresh samples follow the last one that tiles include
	hole  missing // adjacent bins for find
	tile  rollup.Tile
}

// addTile adds the bins of the tile that are before hi.
func (c *coverage) addTile(hi int64) error {
	if err := c.skipTo(min(c.tile.Since, hi)); err != nil {
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
		if err := c.addBin(next, fresh == next, bins); err != nil {
			return err
		}
		if stored == next {
			bins = bins[1:]
		}
	}
	return nil
}

// addBin adds the bin at t, the first of bins. If a fresh sample changes that bin, addBin
// adds it to the hole instead.
func (c *coverage) addBin(t int64, fresh bool, bins []rollup.Bin) error {
	if fresh || c.stale {
		err := c.extendHole(t, t+c.width)
		c.stale = fresh
		return err
	}
	if err := c.flush(); err != nil {
		return err
	}
	c.at = t + c.width
	return c.b.join.add(&bins[0])
}

// skipTo adds the bins before t that are not found yet to the hole.
func (c *coverage) skipTo(t int64) error {
	if t <= c.at {
		return nil
	}
	fresh := c.b.anyFresh(c.at, t)
	err := c.extendHole(c.at, t)
	c.stale = c.stale || fresh
	return err
}

// extendHole adds [lo, hi) to the hole, or begins another hole.
func (c *coverage) extendHole(lo, hi int64) error {
	if c.hole.hi != lo || c.hole.lo == c.hole.hi {
		if err := c.flush(); err != nil {
			return err
		}
		c.hole = missing{lo: lo, stale: c.stale}
	}
	c.hole.hi, c.at = hi, hi
	return nil
}

// flush finds the bins in the hole.
func (c *coverage) flush() error {
	hole := c.hole
	c.hole = missing{}
	if hole.lo == hole.hi {
		return nil
	}
	return c.find(hole)
}

// nextFresh returns the start of the first bin with a fresh sample in [lo, hi), or hi if
// there is none.
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
