package predicate

import (
	"context"
	"fmt"
	"iter"
	"math"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
)

// Interval is a time with one result. From is the first instant, and To the first instant after it,
// in ns since 1970.
type Interval struct {
	From, To int64
	State    State
}

const (
	// numWindows is the approximate number of windows of a search.
	numWindows = 1000
	// fewestBins is the minimum number of stored bins in the range of a search that uses them.
	fewestBins = 64
)

// Intervals yields the results of the predicate, by time and without gaps. Consecutive intervals
// have different results. The sequence ends after its first error. It can be used only once.
func (s *Search) Intervals(ctx context.Context) iter.Seq2[Interval, error] {
	return func(yield func(Interval, error) bool) {
		j := joined{yield: yield}
		if err := s.run(ctx, j.add); err != nil {
			j.fail(err)
			return
		}
		j.flush()
	}
}

// joined joins consecutive intervals with one result.
type joined struct {
	yield func(Interval, error) bool
	open  Interval
	ended bool
}

func (j *joined) add(i Interval) bool {
	if j.open.State == i.State {
		j.open.To = i.To
		return true
	}
	j.flush()
	j.open = i
	return !j.ended
}

func (j *joined) flush() {
	if !j.ended && j.open.State != 0 {
		j.ended = !j.yield(j.open, nil)
	}
}

func (j *joined) fail(err error) {
	j.flush()
	if !j.ended {
		j.yield(Interval{}, err)
	}
}

// run passes all intervals to emit, until it returns false.
func (s *Search) run(ctx context.Context, emit func(Interval) bool) error {
	if s.from >= s.end {
		return nil
	}
	width, err := s.windowWidth(ctx)
	if err != nil {
		return err
	}
	if width == 0 {
		return s.exact(ctx, s.from, s.end, emit)
	}
	w, err := s.openWindows(ctx, width)
	defer w.close()
	if err != nil {
		return err
	}
	more := true
	stop := func(i Interval) bool {
		more = emit(i)
		return more
	}
	undecided := s.from // the undecided windows begin here
	for lo := s.from; lo < s.end; {
		hi := min(rollup.Floor(lo, width)+width, s.end)
		r, err := w.eval(lo, hi)
		if err != nil {
			return err
		}
		if r.decided() {
			if undecided < lo {
				if err := s.exact(ctx, undecided, lo, stop); err != nil || !more {
					return err
				}
			}
			if !stop(Interval{lo, hi, State(r)}) {
				return nil
			}
			undecided = hi
		}
		lo = hi
	}
	if undecided < s.end {
		return s.exact(ctx, undecided, s.end, stop)
	}
	return nil
}

// windowWidth returns the width of the windows: a multiple of the width of stored bins. It returns 0
// if no PV has bins that are fine enough for the range.
func (s *Search) windowWidth(ctx context.Context) (int64, error) {
	coarsest := int64(0)
	for _, src := range s.pvs {
		levels, err := s.reader.Levels(ctx, src.pv)
		if err != nil {
			return 0, fmt.Errorf("reading the rollups of %s: %w", src.pv, err)
		}
		for _, l := range levels {
			if every := int64(l.Every()); every <= (s.end-s.from)/fewestBins {
				coarsest = max(coarsest, every)
			}
		}
	}
	if coarsest == 0 {
		return 0, nil
	}
	return coarsest * max(1, (s.end-s.from)/coarsest/numWindows), nil
}

// windows evaluates the predicate on bins.
type windows struct {
	predicate *Predicate
	width     int64
	pvs       []*binned
	results   []results
}

// binned is the bins of a PV.
type binned struct {
	*tracker
	bin  *rollup.Bin // the current one; nil if there is none
	next func() (*rollup.Bin, error, bool)
	stop func()
	last int64 // a sample is at or after this time
}

func (s *Search) openWindows(ctx context.Context, width int64) (*windows, error) {
	w := &windows{predicate: s.predicate, width: width, results: make([]results, len(s.predicate.conditions))}
	for _, src := range s.pvs {
		b := &binned{last: math.MinInt64}
		w.pvs = append(w.pvs, b)
		bins, err := s.reader.Bins(ctx, src.pv, s.from, s.end-1, 0, query.BinOptions{Width: width, Empty: true, First: true, Lost: &src.lost})
		if err != nil {
			return w, fmt.Errorf("reading the rollups of %s: %w", src.pv, err)
		}
		src.note(bins.CompleteUntil)
		b.tracker = newTracker(src, s.from)
		if bins.Stored {
			b.next, b.stop = iter.Pull2(bins.All)
		}
	}
	return w, nil
}

func (w *windows) close() {
	for _, b := range w.pvs {
		if b.stop != nil {
			b.stop()
		}
	}
}

// eval returns the possible results in a window, or in the part of it that is in the range.
func (w *windows) eval(lo, hi int64) (results, error) {
	start := rollup.Floor(lo, w.width)
	for _, b := range w.pvs {
		if err := b.advance(start); err != nil {
			return 0, fmt.Errorf("reading the rollups of %s: %w", b.src.pv, err)
		}
	}
	for k, b := range w.pvs {
		some, all := b.window(lo, hi, b.last)
		bin := b.of(start, start+w.width)
		for i, c := range w.predicate.conditions {
			if c.pv != k {
				continue
			}
			switch w.results[i] = anyResult; {
			case all:
				w.results[i] = results(Unknown)
			case bin != nil:
				w.results[i] = c.within(bin)
			}
			if some {
				w.results[i] |= results(Unknown)
			}
		}
		if bin != nil && bin.Count > 0 && bin.Start >= start {
			b.last = bin.Start
		}
	}
	return w.predicate.root.eval(w.results), nil
}

// advance moves to the bin that ends after a time.
func (b *binned) advance(at int64) error {
	for b.next != nil && (b.bin == nil || b.bin.End() <= at) {
		bin, err, more := b.next()
		if err != nil {
			return err
		}
		b.refresh()
		if !more {
			b.next, b.bin = nil, nil
			return nil
		}
		b.bin = bin
	}
	return nil
}

// of returns the bin that contains a window, or nil.
func (b *binned) of(lo, hi int64) *rollup.Bin {
	if b.bin != nil && b.bin.Start <= lo && hi <= b.bin.End() {
		return b.bin
	}
	return nil
}
