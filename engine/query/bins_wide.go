package query

import (
	"context"

	"varve.dev/varve/engine/rollup"
)

// fill finds bins in [lo, hi) in the wider levels from the k-th on. It returns the end of the
// last bin, or hi if that is later.
func (b *binning) fill(ctx context.Context, k int, lo, hi int64) (at int64, err error) {
	if k == len(b.wider) {
		return hi, b.compute(ctx, lo, hi)
	}
	at = lo
	l := b.wider[k]
	var t rollup.Tile
	for row, err := range b.tiles(ctx, b.p.PV, l, l.Tile(max(lo, b.earliest)), l.Tile(hi-1)) {
		if err != nil {
			return at, err
		}
		if rollup.Decode(&t, &row) != nil {
			continue
		}
		if since := min(t.Since, hi); since > at {
			if at, err = b.fill(ctx, k+1, at, since); err != nil {
				return at, err
			}
		}
		if at, err = b.addWide(&t, at, hi); err != nil {
			return at, err
		}
		at = max(at, min(t.Through, hi))
	}
	if at < hi {
		return b.fill(ctx, k+1, at, hi)
	}
	return at, nil
}

// addWide adds the bins of a tile of a wider level from a time on, up to hi. It returns the end of the last
// one, or the time. If the range begins within a bin, that bin is the first: its samples are not known one by
// one, and the value that the PV held before the bin may have changed in it.
func (b *binning) addWide(t *rollup.Tile, at, hi int64) (int64, error) {
	for i := range t.Bins {
		bin := &t.Bins[i]
		add := b.join.addWide
		switch {
		case bin.End() <= at || bin.Start >= min(hi, t.Through) || b.mayHaveDeleted(bin):
			continue
		case bin.Start >= at:
		case at == b.first:
			add = b.join.begin
		default:
			continue
		}
		if err := add(bin); err != nil {
			return at, err
		}
		at = bin.End()
	}
	return at, nil
}
