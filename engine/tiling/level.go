package tiling

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"
	"time"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

const (
	// overlap is how far the copy of an accumulator lags behind, in the time of samples. A
	// sample that comes twice, or late by less than overlap, costs only a read of the blocks
	// of the latest checkpoint.
	overlap = time.Minute
	// writeAfter is the longest time that bins wait for more bins before they are written.
	writeAfter = time.Hour
	// recomputeWindow is the time span of the latest bins that a new sealer recomputes,
	// because another sealer may have ended in the middle of its work.
	recomputeWindow = time.Hour
	// reach is how far ahead of the clock the search for tiles begins.
	reach = 24 * time.Hour
)

// level is the state of the rollups of a PV on one level.
//
//	tiles ── from ── pending bins ── accumulator: the open bin ── last ── not fed ──▶
//	      └─ through ≥ from: up to where tiles claim to be complete
//
// The level lags while sealed samples after last are not fed. Blocks have these samples.
type level struct {
	level   store.Level
	width   int64
	through int64     // tiles are complete up to this time
	from    int64     // tiles are trusted up to this time; pending bins begin here
	stored  int       // number of bins in the latest tile
	stamp   int64     // stamp of the latest tile
	written time.Time // when this sealer wrote or found the latest tile

	newest int64 // time of the latest sample that this sealer sealed

	unsure map[store.Tile]draft // tiles that another sealer may have written since

	warm      bool // the accumulator knows the value at from, and all samples from there to last
	lags      bool
	acc, base rollup.Accumulator // base is an earlier copy of acc; its width is 0 if there is none
	pending   []rollup.Bin
	atBase    int       // number of pending bins when base was copied
	fed       time.Time // when samples last came, as far as this sealer knows
	after     int64     // samples up to this time are fed; set while a read catches up
	edge      edge      // set while a read catches up
}

func newLevel(l store.Level) *level {
	r := &level{level: l, width: int64(l.Every()), written: time.Now(), newest: math.MinInt64}
	r.from = rollup.Floor(scan.Earliest, r.width)
	r.through = r.from
	r.acc.Reset(r.width)
	return r
}

// findTiles returns the state of a level in the store. It searches backwards for the latest
// tile, in growing steps, until it reaches the earliest bucket of the directory entry.
func (s *Shard) findTiles(ctx context.Context, ser *series, l store.Level) (*level, error) {
	r := newLevel(l)
	now := time.Now().UnixNano()
	if len(ser.entry.Starts) == 0 {
		r.warm = true
		return r, nil
	}
	first := l.Tile(ser.entry.Earliest())
	for hi, step := l.Tile(now+int64(reach)), store.Tile(1); hi >= first; hi, step = hi-step, 4*step {
		found := false
		for row, err := range s.cfg.Store.Rollups(ctx, ser.pv, l, max(first, hi-step+1), hi) {
			if err != nil {
				return nil, err
			}
			var t rollup.Tile
			if err := rollup.Decode(&t, &row); err != nil {
				s.reportDamaged(&row, err)
				continue
			}
			found = true
			r.through, r.stored, r.stamp = t.Through, len(t.Bins), row.Stamp
		}
		if found {
			r.from = min(r.through, rollup.Floor(now-int64(recomputeWindow), r.width))
			return r, nil
		}
	}
	return r, nil
}

// reportDamaged reports a tile that cannot be read. The bins of the tile are recomputed
// from the samples that still exist.
func (s *Shard) reportDamaged(row *store.Rollup, err error) {
	s.cfg.Metrics.Damaged.Inc()
	s.cfg.Log.Error("a tile of a rollup cannot be read; its bins are recomputed from the samples that still exist", "shard", s.cfg.Shard, "pv", row.PV, "level", row.Level.String(), "tile", int64(row.Tile), "err", err)
}

// feedInOrder feeds the samples of a run that are in order. It returns the index up to which
// samples are late: tiles claim to be complete at the times of these samples. Samples before
// index old have expired and are in no block. If the last of them is the first sample of the
// PV, feedInOrder feeds it nevertheless, because it is carried forward.
func (r *level) feedInOrder(run *sample.Run, old int, requested bool) (late int) {
	r.newest, r.fed = max(r.newest, run.Times[run.Len()-1]), time.Now()
	late = max(old, sort.Search(run.Len(), func(i int) bool { return run.Times[i] >= r.through }))
	if !requested {
		r.reset()
		return late
	}
	last, begun := r.acc.Last()
	from := late
	if old > 0 && late == old && r.through <= run.Times[old-1] && !begun {
		from = old - 1
		r.from = max(r.from, rollup.Floor(run.Times[from], r.width)+r.width)
	}
	switch {
	case from == run.Len() || !r.warm:
	case begun && run.Times[from] <= last:
		r.stepBack(run.Times[from])
	case !r.lags:
		r.feed(run, from)
	}
	return late
}

// feed adds the samples of a run from an index (inclusive) on. It copies the accumulator
// before it adds the samples of the latest minute.
func (r *level) feed(run *sample.Run, from int) {
	before := run.Times[run.Len()-1] - int64(overlap)
	cut := from + sort.Search(run.Len()-from, func(i int) bool { return run.Times[from+i] > before })
	r.add(run, from, cut)
	if last, begun := r.acc.Last(); begun && last <= before {
		r.saveBase()
	}
	r.add(run, cut, run.Len())
}

// add adds samples to the accumulator, and the bins that they close to the pending bins.
func (r *level) add(run *sample.Run, from, to int) {
	n := len(r.pending)
	r.pending = r.acc.Add(r.pending, run, from, to)
	r.dropWritten(n)
}

// dropWritten drops the pending bins from the n-th on that begin before r.from. Such bins are
// already in tiles, or they cannot be computed.
func (r *level) dropWritten(n int) {
	k := n
	for k < len(r.pending) && r.pending[k].Start < r.from {
		k++
	}
	r.pending = slices.Delete(r.pending, n, k)
}

// stepBack restores the copy of the accumulator, which has not seen the samples from a time
// on. If there is no such copy, it resets the level.
func (r *level) stepBack(t int64) {
	if last, begun := r.base.Last(); r.base.Width() == 0 || !begun || last >= t {
		r.reset()
		return
	}
	r.acc.Copy(&r.base)
	r.pending = r.pending[:r.atBase]
	r.lags = true
}

// reset forgets everything that is not in tiles.
func (r *level) reset() {
	r.warm, r.lags, r.pending, r.atBase = false, false, nil, 0
	r.acc.Reset(r.width)
	r.base.Reset(0)
}

// markWritten notes that tiles are complete up to a time, and drops the pending bins before it.
func (r *level) markWritten(to int64) {
	n := sort.Search(len(r.pending), func(i int) bool { return r.pending[i].Start >= to })
	r.pending = slices.Delete(r.pending, 0, n)
	r.atBase = max(0, r.atBase-n)
	r.from, r.through, r.written = to, max(to, r.through), time.Now()
}

// saveBase copies the accumulator.
func (r *level) saveBase() {
	r.base.Copy(&r.acc)
	r.atBase = len(r.pending)
}

// errOtherSealer means that another sealer wrote a tile.
var errOtherSealer = errors.New("another sealer wrote the tile")

// reload reads the tiles of a level again. It forgets all bins that are not in tiles of this
// sealer, so that they are recomputed: other sealers may have written these bins without the
// samples that this sealer knows.
func (s *Shard) reload(ctx context.Context, ser *series, r *level) error {
	found, err := s.findTiles(ctx, ser, r.level)
	if err != nil {
		return err
	}
	r.replace(found)
	return nil
}

// replace sets r to the state found in the store, and forgets all bins that are not in tiles
// of this sealer.
func (r *level) replace(found *level) {
	found.warm, found.from = false, min(found.from, r.from)
	found.newest, found.fed, found.unsure = r.newest, r.fed, r.unsure
	*r = *found
}
