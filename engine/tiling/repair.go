package tiling

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// repairTries is how often a repair computes its bins again after another sealer has written their tiles.
const repairTries = 3

// Limits of a piece of a repair: how many bins it computes, and how many may begin in its span. An import has spans of
// years. A piece reads the tiles of its span, so a much longer span would be read again and again.
const (
	repairMost = 32 * store.TileBins
	repairLong = 8 * repairMost
)

// repairSpan recomputes the bins of a level that depend on samples in a span. A sample changes its own bin and
// the bin of the next sample, because its value is held until then. If another sealer writes the tiles of these
// bins in the meantime, repairSpan computes the bins again, because they may lack samples that the tiles have.
// It repairs a long span in pieces, the earliest first, so that it holds few bins in memory.
func (s *Shard) repairSpan(ctx context.Context, ser *series, r *level, sp span) error {
	for tries := repairTries; ; {
		to, err := s.repairOnce(ctx, ser, r, sp)
		switch {
		case err == nil && to == everTile:
			return nil
		case err == nil:
			sp, tries = span{to, max(sp.last, to)}, repairTries
			continue
		case !errors.Is(err, errOtherSealer) || tries == 0:
			return err
		}
		tries--
		if err := s.compareLevel(ctx, ser, r); err != nil {
			return err
		}
	}
}

// repairOnce recomputes a piece of the bins of repairSpan once. It returns the time up to which it did, or everTile if
// it was the last piece. It returns errOtherSealer if another sealer has written their tiles in the meantime.
func (s *Shard) repairOnce(ctx context.Context, ser *series, r *level, sp span) (to int64, err error) {
	if sp.first >= r.through {
		return everTile, nil
	}
	stamp := s.cfg.Clock.StoreTime() // before anything is read
	seen := stamps{}
	first, hi, isLast := r.pieceOf(sp)
	lo, err := s.completeTo(ctx, ser.pv, r, first, hi, seen)
	if err != nil {
		return 0, err
	}
	isPending := false
	if isLast {
		if hi, isPending, err = s.toNextBin(ctx, ser.pv, r, hi, seen); err != nil {
			return 0, err
		}
	}
	if r.warm && (isPending || hi > r.from) {
		r.reset() // the bin of the next sample is pending, or it will be
	}
	bins, lo, to, err := s.compute(ctx, ser, r, lo, hi)
	if err != nil {
		return 0, err
	}
	whole := lo < to // otherwise the samples of these bins have expired, so the bins stay
	if hi, isLast = to, isLast && to == hi; isLast {
		to = everTile
	}
	if !whole {
		return to, nil
	}
	last, err := s.apply(ctx, ser, r, &patch{level: r.level, lo: lo, hi: hi, bins: bins, stamp: stamp, through: everTile, seen: seen})
	if at := r.level.Tile(hi - 1); err == nil && at == r.level.Tile(r.through-1) && seen[at] == r.stamp {
		r.stamp, r.stored = last.stamp, last.bins // otherwise pending bins may lack samples of another sealer
	}
	return to, err
}

// toNextBin extends a range that ends at hi to the next bin. isPending is true if there is none yet.
func (s *Shard) toNextBin(ctx context.Context, pv string, r *level, hi int64, seen stamps) (end int64, isPending bool, err error) {
	next, found, err := s.nextBin(ctx, pv, r, hi, seen)
	if err != nil || !found {
		return hi, true, err
	}
	return next, false, nil
}

// pieceOf returns the range of the first piece of a span, in whole bins, and whether it is the last piece, too.
func (r *level) pieceOf(sp span) (first, hi int64, isLast bool) {
	first = rollup.Floor(sp.first, r.width)
	hi = min(rollup.Floor(sp.last, r.width)+r.width, r.through)
	if (hi-first)/r.width <= repairLong {
		return first, hi, true
	}
	return first, first + repairLong*r.width, false
}

// stamps are the stamps of tiles when a repair first read them.
type stamps map[store.Tile]int64

// note notes the stamp of a tile, unless it is known.
func (s stamps) note(row *store.Rollup) {
	if _, known := s[row.Tile]; !known {
		s[row.Tile] = row.Stamp
	}
}

// completeTo returns where the bins to compute begin. This is the time at, or an earlier time
// if the tile at that time is complete only up to there. Another sealer may have written the
// tile in the meantime without samples that this sealer knows. completeTo notes the stamps of all tiles
// from at to hi (exclusive).
func (s *Shard) completeTo(ctx context.Context, pv string, r *level, at, hi int64, seen stamps) (int64, error) {
	first := r.level.Tile(at)
	for row, err := range s.cfg.Store.Rollups(ctx, pv, r.level, first, r.level.Tile(hi-1)) {
		if err != nil {
			return at, err
		}
		seen.note(&row)
		if row.Tile != first {
			continue
		}
		var t rollup.Tile
		if err := rollup.Decode(&t, &row); err != nil {
			s.reportDamaged(&row, err)
			continue
		}
		at = min(at, t.Through)
	}
	return at, nil
}

// tile returns a tile and its stamp, or nil if the store does not have it or it cannot be read.
func (s *Shard) tile(ctx context.Context, pv string, l store.Level, at store.Tile) (found *rollup.Tile, stamp int64, err error) {
	for row, err := range s.cfg.Store.Rollups(ctx, pv, l, at, at) {
		if err != nil {
			return nil, 0, err
		}
		t := new(rollup.Tile)
		if err := rollup.Decode(t, &row); err != nil {
			s.reportDamaged(&row, err)
			continue
		}
		found, stamp = t, row.Stamp
	}
	return found, stamp, nil
}

// edge finds the first bin that can be computed from samples. Some samples of an earlier bin,
// or the value at its start, may have expired.
type edge struct {
	whole  int64 // all samples from here on are stored
	passed bool
}

// edgeOf returns the edge of a PV. The edge is already passed if no samples have expired or
// were deleted to free disk space.
func (s *Shard) edgeOf(ser *series) edge {
	cutoff := s.cfg.Cutoff()
	if ser.cutoff != nil {
		cutoff = *ser.cutoff
	}
	whole := max(cutoff, scan.WholeSince(ser.entry.Starts, s.cfg.Clock.Now().Now))
	return edge{whole: whole, passed: whole <= ser.entry.Earliest()}
}

// first returns the start of the first bin at or after lo whose samples are all stored.
func (e *edge) first(lo, width int64) int64 {
	if whole := rollup.Floor(e.whole, width); lo < whole || e.whole > whole && lo == whole {
		return rollup.Floor(e.whole+width-1, width)
	}
	return lo
}

// pass takes account of samples i to j (exclusive) of a run. It returns the start of the first
// bin at or after lo for which the value at the start is known.
func (e *edge) pass(run *sample.Run, i, j int, lo, width int64) int64 {
	if e.passed {
		return lo
	}
	i += sort.Search(j-i, func(k int) bool { return run.Times[i+k] >= e.whole })
	if i == j {
		return lo
	}
	e.passed = true
	if t := run.Times[i]; t >= lo { // all earlier samples are gone
		return rollup.Floor(t, width) + width
	}
	return lo
}

// nextBin returns the end of the first bin in tiles that begins at or after a time. It notes the stamps
// of the tiles that it reads.
func (s *Shard) nextBin(ctx context.Context, pv string, r *level, from int64, seen stamps) (end int64, found bool, err error) {
	if from >= r.through {
		return 0, false, nil
	}
	for row, err := range s.cfg.Store.Rollups(ctx, pv, r.level, r.level.Tile(from), r.level.Tile(r.through-1)) {
		if err != nil {
			return 0, false, err
		}
		seen.note(&row)
		var t rollup.Tile
		if err := rollup.Decode(&t, &row); err != nil {
			s.reportDamaged(&row, err)
			continue
		}
		if i := slices.IndexFunc(t.Bins, func(b rollup.Bin) bool { return b.Start >= from }); i >= 0 {
			return t.Bins[i].End(), true, nil
		}
	}
	return 0, false, nil
}

// compute computes the bins that begin in [lo, hi) from the samples in blocks. The result from
// is the start of the first bin that can be computed. If there are very many bins, compute returns only those
// before the time to. Otherwise to is hi.
func (s *Shard) compute(ctx context.Context, ser *series, r *level, lo, hi int64) (bins []rollup.Bin, from, to int64, err error) {
	e := s.edgeOf(ser)
	if from = e.first(lo, r.width); from >= hi {
		return nil, hi, hi, nil
	}
	to = hi
	acc, after := rollup.NewAccumulator(r.width), int64(math.MinInt64)
	before, err := s.before(ctx, ser, r, from)
	if err != nil {
		return nil, from, hi, err
	}
	if before != nil {
		acc.Hold(before)
		e.passed, after = true, from-1
	}
	err = s.read(ctx, ser, from, hi-1, func(run *sample.Run, i, j int) bool {
		i += sort.Search(j-i, func(k int) bool { return run.Times[i+k] > after })
		from = e.pass(run, i, j, from, r.width)
		if bins = acc.Add(bins, run, i, j); len(bins) >= repairMost && bins[len(bins)-1].End() > from {
			to = bins[len(bins)-1].End() // later samples do not change these bins
		}
		return to == hi
	})
	if to == hi {
		bins = acc.Close(bins, hi)
	}
	return slices.DeleteFunc(bins, func(b rollup.Bin) bool { return b.Start < from }), from, to, err
}

// before returns the last bin in tiles that begins before lo, or nil if tiles are not complete
// up to lo. The bin at lo begins with the value at the end of that bin. Blocks have this value
// too, unless it is the value of a late sample: buckets that had already begun may not carry
// the sample forward, and the sample may have expired.
func (s *Shard) before(ctx context.Context, ser *series, r *level, lo int64) (before *rollup.Bin, err error) {
	if lo > r.through {
		return nil, nil
	}
	l := r.level
	first := l.Tile(ser.entry.Earliest())
	for hi, step := l.Tile(lo-1), store.Tile(2); hi >= first && before == nil; hi, step = hi-step, 4*step {
		for row, err := range s.cfg.Store.Rollups(ctx, ser.pv, l, max(first, hi-step+1), hi) {
			if err != nil {
				return nil, err
			}
			var t rollup.Tile
			if err := rollup.Decode(&t, &row); err != nil {
				s.reportDamaged(&row, err)
				continue
			}
			if n := sort.Search(len(t.Bins), func(i int) bool { return t.Bins[i].Start >= lo }); n > 0 {
				before = &t.Bins[n-1]
			}
		}
	}
	return before, nil
}

// refresh reads the directory entry of a PV again. Callers refresh the entry before they read
// blocks, because blocks may have moved to other buckets.
func (s *Shard) refresh(ctx context.Context, ser *series) error {
	return ser.entry.Refresh(ctx, s.cfg.Store, ser.pv, s.cfg.Clock.Now().End)
}

// read feeds the sealed samples of a PV in a range. It first feeds the samples of the last
// time before the range, and perhaps some more. It leaves out damaged blocks
// and notes their times: bins in tiles may still count their samples.
func (s *Shard) read(ctx context.Context, ser *series, from, to int64, feed scan.Feed) error {
	n := 0
	sc := &scan.Scan{
		Store: s.cfg.Store, PV: ser.pv, From: max(from, scan.Earliest), To: min(to, scan.Latest), Now: s.cfg.Clock.Earliest(),
		Damaged: func(d *scan.Damaged) error {
			if d.Block.Count > 0 {
				ser.damaged = addSpan(ser.damaged, span{d.Block.Start, d.Block.End})
			}
			s.cfg.Damaged(d)
			return nil
		},
	}
	sc.Deleted = ser.entry.Mask()
	sc.Prepare(ser.entry.Starts)
	err := sc.Feed(ctx, func(r *sample.Run, i, j int) bool {
		n += j - i
		return feed(r, i, j)
	})
	s.cfg.Metrics.Reread.Add(float64(n))
	return err
}
