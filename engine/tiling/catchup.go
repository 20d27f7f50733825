package tiling

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

const (
	// rereadSamples is how many samples a checkpoint reads from blocks, about, to catch
	// up with rollups: those of a new sealer, and of levels that are new.
	rereadSamples = 32 << 20
	// rereadOf is that of one PV.
	rereadOf = 4 << 20
	// mostPending is how many bins of a level wait in memory, about.
	mostPending = 4 * store.TileBins
)

// Complete completes the rollups of all PVs, at the end of a checkpoint: it catches up
// with samples that were not fed, and writes the bins that are due. PVs that nobody
// captures any more have all their bins written.
func (s *Shard) Complete(ctx context.Context) error {
	var todo []*series
	for _, ser := range s.series {
		if len(ser.levels) > 0 && (s.ended(ser) || slices.ContainsFunc(ser.levels, func(r *level) bool { return r.active(ser) && r.waits() })) {
			todo = append(todo, ser)
		}
	}
	var budget atomic.Int64
	budget.Store(rereadSamples)
	var mu sync.Mutex
	var failed error
	_ = inParallel(ctx, todo, func(ctx context.Context, ser *series) error {
		if err := s.completeSeries(ctx, ser, &budget); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = fmt.Errorf("rolling up %s: %w", ser.pv, err) // the others go on
		}
		return nil
	})
	return failed
}

// maxPending bounds the bins of a level that wait while rollups are put off; what is
// forgotten is computed from blocks later.
const maxPending = 1024

// PutOff leaves rollups for a later checkpoint.
func (s *Shard) PutOff() {
	s.cfg.Metrics.PutOff.Inc()
	for _, ser := range s.series {
		for _, r := range ser.levels {
			if len(r.pending) > maxPending {
				r.chill()
			}
		}
	}
}

// ended reports whether nobody captures a PV any more.
func (s *Shard) ended(ser *series) bool { return ser.round < s.round }

// active reports whether the PV is to have the level.
func (r *level) active(ser *series) bool { return slices.Contains(ser.asked, r.level) }

// waits reports whether there may be something to do for a level.
func (r *level) waits() bool { return !r.warm || r.lags || len(r.pending) > 0 || r.idle() }

// idle reports whether the open bin waits for samples that do not come.
func (r *level) idle() bool { return !r.shut() && time.Since(r.fed) >= writeAfter }

// shut reports whether the open bin is closed.
func (r *level) shut() bool {
	last, begun := r.acc.Last()
	through, _ := r.acc.Through()
	return !begun || through > last
}

// completeSeries completes the rollups of a PV. If another sealer writes them at the same time,
// what this one adds to theirs is computed at once, unless they do so again and again.
func (s *Shard) completeSeries(ctx context.Context, ser *series, budget *atomic.Int64) error {
	for tries := 3; ; {
		n, done, err := s.catchUp(ctx, ser)
		if err != nil {
			return err
		}
		overtaken := false
		for _, r := range ser.levels {
			if !r.active(ser) {
				continue
			}
			err := s.writeDue(ctx, ser, r, !done || s.ended(ser))
			if errors.Is(err, errForeign) {
				overtaken, err = true, s.reload(ctx, ser, r)
			}
			if err != nil {
				return err
			}
		}
		left := budget.Add(-int64(n))
		if overtaken && tries > 0 {
			tries--
		} else if done || n == 0 || left <= 0 {
			return nil
		}
	}
}

// catchUp feeds samples in blocks to the accumulators that lag, from the one on that
// is furthest behind. It returns how many it read, and whether all have caught up.
func (s *Shard) catchUp(ctx context.Context, ser *series) (n int, done bool, err error) {
	behind := slices.DeleteFunc(slices.Clone(ser.levels), func(r *level) bool { return r.warm && !r.lags || !r.active(ser) })
	if len(behind) == 0 {
		return 0, true, nil
	}
	if err := s.refresh(ctx, ser); err != nil {
		return 0, false, err
	}
	from := int64(math.MaxInt64)
	for _, r := range behind {
		at, err := s.position(ctx, ser, r)
		if err != nil {
			return 0, false, err
		}
		from = min(from, at)
	}
	last := int64(math.MinInt64)
	done = true
	err = s.read(ctx, ser, from, scan.Latest, func(run *sample.Run, i, j int) bool {
		full := n >= rereadOf || slices.ContainsFunc(behind, (*level).full)
		if full && run.Times[i] > last { // not between samples of equal time
			done = false
			return false
		}
		n, last = n+j-i, run.Times[j-1]
		for _, r := range behind {
			r.follow(run, i, j)
		}
		return true
	})
	for _, r := range behind {
		r.caughtUp(done)
		if err != nil {
			r.chill()
		}
	}
	return n, done, err
}

// full reports whether enough bins wait in memory. Those of the latest minute always do.
func (r *level) full() bool { return len(r.pending) >= mostPending+int(int64(overlap)/r.width) }

// position returns from where on an accumulator that lags needs samples. If it knows
// nothing, it begins with what is held there.
func (s *Shard) position(ctx context.Context, ser *series, r *level) (int64, error) {
	if last, begun := r.acc.Last(); r.warm && begun {
		r.after, r.edge.passed = last, true
		return last + 1, nil
	}
	r.edge = s.edgeOf(ser)
	r.from = r.edge.first(r.from, r.width)
	r.after = math.MinInt64
	before, err := s.before(ctx, ser, r, r.from)
	if before != nil {
		r.acc.Hold(before)
		r.after, r.edge.passed = r.from-1, true
	}
	return r.from, err
}

// follow adds samples that the accumulator has not seen.
func (r *level) follow(run *sample.Run, i, j int) {
	i += sort.Search(j-i, func(k int) bool { return run.Times[i+k] > r.after })
	r.from = r.edge.pass(run, i, j, r.from, r.width)
	before := r.newest - int64(overlap)
	cut := i + sort.Search(j-i, func(k int) bool { return run.Times[i+k] > before })
	r.add(run, i, cut)
	if last, begun := r.acc.Last(); begun && last <= before && cut < j {
		r.rememberBase()
	}
	r.add(run, cut, j)
}

// caughtUp ends a read: of all that there is, or of a part.
func (r *level) caughtUp(done bool) {
	if last, begun := r.acc.Last(); begun && last <= r.newest-int64(overlap) {
		r.rememberBase()
	}
	if r.warm, r.lags = true, !done; r.fed.IsZero() {
		r.fed = time.Now()
	}
}

// writeDue writes the bins of a level that are due, or all that are closed.
func (s *Shard) writeDue(ctx context.Context, ser *series, r *level, all bool) error {
	hi := r.due(time.Now(), all, s.ended(ser))
	if hi <= r.from {
		return nil
	}
	if !slices.Contains(ser.entry.Levels, r.level) {
		c := store.Channel{PV: ser.pv, Levels: []store.Level{r.level}}
		if err := s.cfg.Store.AddChannel(ctx, c); err != nil {
			return err
		}
		ser.entry.Add(c)
	}
	n := sort.Search(len(r.pending), func(i int) bool { return r.pending[i].Start >= hi })
	last, err := s.apply(ctx, ser, r, &patch{
		level: r.level, lo: r.from, hi: hi, bins: r.pending[:n], stamp: s.at, through: r.through, latest: r.stamp,
	})
	if err != nil {
		return err
	}
	r.stamp, r.stored = last.stamp, last.bins
	r.wrote(last.to)
	return nil
}

// due returns up to where bins are to be written now; no more than r.from if none are.
// Bins of the latest minute wait: samples that come late or twice are mostly so young.
func (r *level) due(now time.Time, all, ended bool) int64 {
	if ended || r.idle() {
		n := len(r.pending)
		r.pending = r.acc.Close(r.pending, math.MaxInt64)
		r.keep(n)
	}
	hi, begun := r.acc.Through()
	if last, _ := r.acc.Last(); !r.shut() {
		hi = min(hi, rollup.Floor(last-int64(overlap), r.width))
	}
	n := sort.Search(len(r.pending), func(i int) bool { return r.pending[i].Start >= hi })
	if !begun || n == 0 {
		return math.MinInt64
	}
	tileEnds := r.level.Start(r.level.Tile(r.pending[0].Start)+1) <= hi
	old := now.Sub(r.written) >= writeAfter
	if all || tileEnds || old || r.shut() || r.from < r.through || n >= max(1, r.stored/4) {
		return hi
	}
	return math.MinInt64
}
