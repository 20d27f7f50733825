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
	// overlap is how far, in the time of samples, the copy of an accumulator lags
	// behind: samples that come late by less, or twice, cost no more than a read of the
	// blocks of the latest checkpoint.
	overlap = time.Minute
	// writeAfter is for how long bins wait for others before they are written.
	writeAfter = time.Hour
	// recomputeWindow is for how long before now a new sealer computes bins again that it
	// finds: another one may have ended in the middle of its work.
	recomputeWindow = time.Hour
	// reach is how far ahead of the clock tiles are looked for.
	reach = 24 * time.Hour
)

// level is what a sealer knows of the rollups of a PV on one level.
//
//	tiles ── from ── pending bins ── accumulator: the open bin ── last ── not fed ──▶
//	      └─ through ≥ from: what tiles claim
//
// Samples after last that are sealed and not fed make it lag; blocks have them.
type level struct {
	level   store.Level
	width   int64
	through int64     // up to where tiles are complete
	from    int64     // up to where they are trusted: pending bins begin here
	stored  int       // bins in the latest tile
	stamp   int64     // of that tile
	written time.Time // when it was written here, or found

	newest int64 // time of the latest sample that was sealed here

	unsure map[store.Tile]draft // tiles that another sealer may have written since

	warm      bool // the accumulator knows what is held at from, and all that follows to last
	lags      bool
	acc, base rollup.Accumulator // base is as acc was some time before; its width is 0 if there is none
	pending   []rollup.Bin
	atBase    int       // how many were pending then
	fed       time.Time // when samples came last, as far as this sealer knows
	after     int64     // of a read that catches up: samples up to here are fed
	edge      edge      // of that read
}

func newLevel(l store.Level) *level {
	r := &level{level: l, width: int64(l.Every()), written: time.Now(), newest: math.MinInt64}
	r.from = rollup.Floor(scan.Earliest, r.width)
	r.through = r.from
	r.acc.Reset(r.width)
	return r
}

// findTiles returns what the store has of a level: it looks for the latest tile, in
// steps that grow, back to where the directory begins.
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
				s.corrupt(&row, err)
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

// corrupt tells of a tile that can not be read: it is computed again as far as there
// are samples.
func (s *Shard) corrupt(row *store.Rollup, err error) {
	s.cfg.Metrics.Corrupt.Inc()
	s.cfg.Log.Error("a tile of a rollup can not be read", "shard", s.cfg.Shard, "pv", row.PV, "level", row.Level.String(), "tile", int64(row.Tile), "err", err)
}

// feedInOrder feeds the samples of a run as far as they are in order. Those before old are in
// no block, as they have expired; the last of them is carried forward if it is the first that
// the PV has. It returns up to which one they are in tiles that claim to be complete.
func (r *level) feedInOrder(run *sample.Run, old int, asked bool) (late int) {
	r.newest, r.fed = max(r.newest, run.Times[run.Len()-1]), time.Now()
	late = max(old, sort.Search(run.Len(), func(i int) bool { return run.Times[i] >= r.through }))
	if !asked {
		r.chill()
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

// feed adds the samples of a run from (inclusive) on, and keeps a copy of the
// accumulator as it was before the latest ones.
func (r *level) feed(run *sample.Run, from int) {
	before := run.Times[run.Len()-1] - int64(overlap)
	cut := from + sort.Search(run.Len()-from, func(i int) bool { return run.Times[from+i] > before })
	r.add(run, from, cut)
	if last, begun := r.acc.Last(); begun && last <= before {
		r.rememberBase()
	}
	r.add(run, cut, run.Len())
}

// add adds samples to the accumulator, and what that closes to the pending bins.
func (r *level) add(run *sample.Run, from, to int) {
	n := len(r.pending)
	r.pending = r.acc.Add(r.pending, run, from, to)
	r.keep(n)
}

// keep removes, of the pending bins from the n-th on, those that are in tiles, or come
// before there are any.
func (r *level) keep(n int) {
	k := n
	for k < len(r.pending) && r.pending[k].Start < r.from {
		k++
	}
	r.pending = slices.Delete(r.pending, n, k)
}

// stepBack makes the accumulator one that did not see samples from a time on.
func (r *level) stepBack(t int64) {
	if last, begun := r.base.Last(); r.base.Width() == 0 || !begun || last >= t {
		r.chill()
		return
	}
	r.acc.Copy(&r.base)
	r.pending = r.pending[:r.atBase]
	r.lags = true
}

// chill forgets what is not in tiles.
func (r *level) chill() {
	r.warm, r.lags, r.pending, r.atBase = false, false, nil, 0
	r.acc.Reset(r.width)
	r.base.Reset(0)
}

// wrote notes that tiles are complete up to a time: pending bins before are in them.
func (r *level) wrote(to int64) {
	n := sort.Search(len(r.pending), func(i int) bool { return r.pending[i].Start >= to })
	r.pending = slices.Delete(r.pending, 0, n)
	r.atBase = max(0, r.atBase-n)
	r.from, r.through, r.written = to, max(to, r.through), time.Now()
}

// rememberBase makes the copy of the accumulator the same as that is now.
func (r *level) rememberBase() {
	r.base.Copy(&r.acc)
	r.atBase = len(r.pending)
}

// errForeign says that another sealer wrote a tile.
var errForeign = errors.New("another sealer wrote the tile")

// reload looks at the tiles of a level again. What is not in tiles that this sealer
// wrote is forgotten, and computed again: others may have claimed bins without it.
func (s *Shard) reload(ctx context.Context, ser *series, r *level) error {
	found, err := s.findTiles(ctx, ser, r.level)
	if err != nil {
		return err
	}
	r.become(found)
	return nil
}

// become makes r what the store has, and forgets what is in no tile of this sealer's.
func (r *level) become(found *level) {
	found.warm, found.from = false, min(found.from, r.from)
	found.newest, found.fed, found.unsure = r.newest, r.fed, r.unsure
	*r = *found
}
