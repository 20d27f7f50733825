package tiling

import (
	"cmp"
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
	// rereadLimit limits the number of samples that a checkpoint reads from blocks to catch up
	// with the rollups of a new sealer and of new levels. The limit is approximate.
	rereadLimit = 32 << 20
	// rereadLimitPV is the same limit for one PV.
	rereadLimitPV = 4 << 20
	// pendingLimit limits the bins of a level that wait in memory while the level catches up,
	// in addition to those of the latest minute.
	pendingLimit = 4 * store.TileBins
)

// Complete completes the rollups of all PVs at the end of a checkpoint. It feeds the
// accumulators the samples that they lack, and writes the bins that are due. For PVs that are
// no longer captured it writes all bins. ErrSuperseded ends it at once.
func (s *Shard) Complete(ctx context.Context) error {
	var todo []*series
	for _, ser := range s.series {
		if len(ser.levels) > 0 && (s.hasEnded(ser) || slices.ContainsFunc(ser.levels, func(r *level) bool { return r.isRequested(ser) && r.needsWork() })) {
			todo = append(todo, ser)
		}
	}
	var budget atomic.Int64
	budget.Store(rereadLimit)
	var mu sync.Mutex
	var failed error
	superseded := inParallel(ctx, todo, func(ctx context.Context, ser *series) error {
		if err := s.completeSeries(ctx, ser, &budget); errors.Is(err, ErrSuperseded) {
			return err
		} else if err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = fmt.Errorf("completing rollups of %s: %w", ser.pv, err) // the other PVs continue
		}
		return nil
	})
	return cmp.Or(superseded, failed)
}

// putOffLimit bounds the bins of a level that wait while rollups are put off. If more bins
// wait, the level forgets them, and they are recomputed from blocks later.
const putOffLimit = 1024

// PutOff defers rollups to a later checkpoint.
func (s *Shard) PutOff() {
	s.cfg.Metrics.PutOff.Inc()
	for _, ser := range s.series {
		for _, r := range ser.levels {
			if len(r.pending) > putOffLimit {
				r.reset()
			}
		}
	}
}

// hasEnded reports whether a PV is no longer captured.
func (s *Shard) hasEnded(ser *series) bool { return ser.round < s.round }

// Lags reports whether some rollups of a PV lack sealed samples that are to be read from blocks.
func (s *Shard) Lags(pv string) bool {
	ser := s.series[pv]
	return ser != nil && slices.ContainsFunc(ser.levels, func(r *level) bool { return r.isRequested(ser) && (!r.warm || r.lags) })
}

// isRequested reports whether the PV should have the level.
func (r *level) isRequested(ser *series) bool { return slices.Contains(ser.requested, r.level) }

// needsWork reports whether there may be something to do for a level.
func (r *level) needsWork() bool { return !r.warm || r.lags || len(r.pending) > 0 || r.isIdle() }

// isIdle reports whether there is an open bin, and no samples have come for at least
// writeAfter.
func (r *level) isIdle() bool { return !r.isClosed() && time.Since(r.fed) >= writeAfter }

// isClosed reports whether there is no open bin.
func (r *level) isClosed() bool {
	last, begun := r.acc.Last()
	through, _ := r.acc.Through()
	return !begun || through > last
}

// completeSeries completes the rollups of a PV. If another sealer has written the tiles in the
// meantime, completeSeries reads them again and retries at once, up to three times.
func (s *Shard) completeSeries(ctx context.Context, ser *series, budget *atomic.Int64) error {
	for tries := 3; ; {
		n, done, err := s.catchUp(ctx, ser)
		if err != nil {
			return err
		}
		overtaken := false
		for _, r := range ser.levels {
			if !r.isRequested(ser) {
				continue
			}
			err := s.writeDue(ctx, ser, r, !done || s.hasEnded(ser))
			if errors.Is(err, errOtherSealer) {
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

// catchUp feeds samples from blocks to the accumulators that lag, beginning with the first
// sample that any of them lacks. It returns how many samples it read, and whether all
// accumulators have caught up.
func (s *Shard) catchUp(ctx context.Context, ser *series) (n int, done bool, err error) {
	behind := slices.DeleteFunc(slices.Clone(ser.levels), func(r *level) bool { return r.warm && !r.lags || !r.isRequested(ser) })
	if len(behind) == 0 {
		return 0, true, nil
	}
	if err := s.refresh(ctx, ser); err != nil {
		return 0, false, err
	}
	from := int64(math.MaxInt64)
	for _, r := range behind {
		at, err := s.resumeFrom(ctx, ser, r)
		if err != nil {
			return 0, false, err
		}
		from = min(from, at)
	}
	last := int64(math.MinInt64)
	done = true
	err = s.read(ctx, ser, from, scan.Latest, func(run *sample.Run, i, j int) bool {
		full := n >= rereadLimitPV || slices.ContainsFunc(behind, (*level).isFull)
		if full && run.Times[i] > last { // not between samples of equal time
			done = false
			return false
		}
		n, last = n+j-i, run.Times[j-1]
		for _, r := range behind {
			r.feedUnseen(run, i, j)
		}
		return true
	})
	for _, r := range behind {
		r.endCatchUp(done)
		if err != nil {
			r.reset()
		}
	}
	return n, done, err
}

// isFull reports whether enough bins wait in memory, in addition to those of the latest minute.
func (r *level) isFull() bool { return len(r.pending) >= pendingLimit+int(int64(overlap)/r.width) }

// resumeFrom returns the time from which an accumulator that lags needs samples. If the
// accumulator is empty, resumeFrom sets the value that the PV held at that time.
func (s *Shard) resumeFrom(ctx context.Context, ser *series, r *level) (int64, error) {
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

// feedUnseen adds the samples that the accumulator has not seen.
func (r *level) feedUnseen(run *sample.Run, i, j int) {
	i += sort.Search(j-i, func(k int) bool { return run.Times[i+k] > r.after })
	r.from = r.edge.pass(run, i, j, r.from, r.width)
	before := r.newest - int64(overlap)
	cut := i + sort.Search(j-i, func(k int) bool { return run.Times[i+k] > before })
	r.add(run, i, cut)
	if last, begun := r.acc.Last(); begun && last <= before && cut < j {
		r.saveBase()
	}
	r.add(run, cut, j)
}

// endCatchUp ends a read that catches up. done means that all samples were read.
func (r *level) endCatchUp(done bool) {
	if last, begun := r.acc.Last(); begun && last <= r.newest-int64(overlap) {
		r.saveBase()
	}
	if r.warm, r.lags = true, !done; r.fed.IsZero() {
		r.fed = time.Now()
	}
}

// writeDue writes the bins of a level that are due. If all is set, it writes all closed bins
// except those of the latest minute.
func (s *Shard) writeDue(ctx context.Context, ser *series, r *level, all bool) error {
	hi := r.dueUntil(time.Now(), all, s.hasEnded(ser))
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
	r.markWritten(last.to)
	return nil
}

// dueUntil returns the time up to which bins must be written now. That time is at or before
// r.from if no bins are due. Bins of the latest minute wait, because most samples that come
// late or twice are at most a minute older than the latest one.
func (r *level) dueUntil(now time.Time, all, ended bool) int64 {
	if ended || r.isIdle() {
		n := len(r.pending)
		r.pending = r.acc.Close(r.pending, math.MaxInt64)
		r.dropWritten(n)
	}
	hi, begun := r.acc.Through()
	if last, _ := r.acc.Last(); !r.isClosed() {
		hi = min(hi, rollup.Floor(last-int64(overlap), r.width))
	}
	n := sort.Search(len(r.pending), func(i int) bool { return r.pending[i].Start >= hi })
	if !begun || n == 0 {
		return math.MinInt64
	}
	tileEnds := r.level.Start(r.level.Tile(r.pending[0].Start)+1) <= hi
	old := now.Sub(r.written) >= writeAfter
	if all || tileEnds || old || r.isClosed() || r.from < r.through || n >= max(1, r.stored/4) {
		return hi
	}
	return math.MinInt64
}
