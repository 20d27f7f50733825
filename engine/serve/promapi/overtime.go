package promapi

import (
	"context"
	"fmt"
	"math"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
)

// maxBins bounds the number of bins that a query of a PV adds up, each for every window that has it.
const maxBins = 5_000_000

// window adds up the bins in a window.
type window struct {
	covered, sum float64 // ns
	min, max     float64
	count        uint64
	last         float64
	sampled      bool // last is valid
	coarse       bool // a part of the window has only bins that are too wide
}

func newWindow() window { return window{min: math.Inf(1), max: math.Inf(-1)} }

func (w *window) add(b *rollup.Bin) {
	w.count += b.Count
	if b.Count > 0 && (b.Kind == rollup.Number || b.Kind == rollup.Choice) {
		w.last, w.sampled = b.Last, true
	}
	if b.Kind == rollup.Number && b.Covered > 0 && !math.IsNaN(b.Mean) {
		w.covered += float64(b.Covered)
		w.sum += b.Mean * float64(b.Covered)
		w.min, w.max = min(w.min, b.Min), max(w.max, b.Max)
	}
}

// value returns the result of a function. It returns false if there is none.
func (w *window) value(function string) (float64, bool) {
	if w.coarse {
		return 0, false
	}
	switch function {
	case "avg_over_time":
		return w.sum / w.covered, w.covered > 0
	case "min_over_time":
		return w.min, w.covered > 0
	case "max_over_time":
		return w.max, w.covered > 0
	case "count_over_time":
		return float64(w.count), w.count > 0
	}
	return w.last, w.sampled
}

// span is a part of the time, in ns since 1970, in bins of a width that divides both ends.
type span struct{ from, to, width int64 }

// overTime returns the results of a function for windows that end just before the times of a grid.
func (h *Handler) overTime(ctx context.Context, pv string, e *expression, g grid) (series, error) {
	s := series{until: query.Latest}
	if g.n == 0 {
		return s, nil
	}
	spans, err := spansOf(e, g)
	if err != nil {
		return s, err
	}
	windows := make([]window, g.n)
	for k := range windows {
		windows[k] = newWindow()
	}
	var lost query.Losses
	for _, part := range spans {
		if err := h.addBins(ctx, pv, part, windows, e.window, g, &s.until, &lost); err != nil {
			return s, err
		}
	}
	s.lost = lost.Count()
	if s.until < g.last() {
		g.cut(s.until)
	}
	gaps, err := h.gaps(ctx, pv, g.start-e.window, g.start+max(g.n-1, 0)*g.step)
	for k := range g.n {
		at := g.at(k)
		for len(gaps) > 0 && gaps[0].To < at-e.window {
			gaps = gaps[1:]
		}
		gap := len(gaps) > 0 && gaps[0].From <= at-e.window && at <= gaps[0].To
		if v, ok := windows[k].value(e.function); ok && (windows[k].count > 0 || !gap) {
			s.add(at, v)
		}
	}
	return s, err
}

// addBins adds the bins of a span to the windows that have them.
func (h *Handler) addBins(ctx context.Context, pv string, part span, windows []window, length int64, g grid, until *int64, lost *query.Losses) error {
	bins, err := h.Reader.Bins(ctx, pv, part.from, part.to-1, 0, query.BinOptions{Width: part.width, Empty: true, First: true, Lost: lost})
	if err != nil {
		return err
	}
	*until = min(*until, bins.CompleteUntil)
	for b, err := range bins.All {
		if err != nil {
			return err
		}
		addBin(windows, b, part.width, length, g)
	}
	return nil
}

// addBin adds a bin to the windows that have it.
func addBin(windows []window, b *rollup.Bin, width, length int64, g grid) {
	first := rollup.Floor(b.Start-g.start, g.step)/g.step + 1
	last := rollup.Floor(b.Start+length-g.start, g.step) / g.step
	if b.Width != width { // samples have expired, and no rollup is fine enough
		last = rollup.Floor(b.Start+b.Width-1+length-g.start, g.step) / g.step
	}
	for k := max(first, 0); k <= min(last, g.n-1); k++ {
		if b.Width == width {
			windows[k].add(b)
		} else {
			windows[k].coarse = true
		}
	}
}

// spansOf divides the windows of a grid in bins. A single window has wide bins, and narrow ones at its
// ends. It returns an error if the bins would be too many.
func spansOf(e *expression, g grid) ([]span, error) {
	unit := gcd(gcd(g.start, e.window), g.step)
	from, to := g.start-e.window, g.last()
	if g.n > 1 {
		if n := float64(to-from) / float64(unit) * (1 + float64(e.window)/float64(g.step)); n > maxBins {
			return nil, badData{fmt.Errorf("the windows have %.0f bins of %v, and may have %d; choose a start and a window that are multiples of the step, or a longer step",
				n, time.Duration(unit), maxBins)}
		}
		return []span{{from, to, unit}}, nil
	}
	unit = gcd(g.start, e.window)
	wide := int64(time.Second)
	for _, wider := range []int64{60, 3600} {
		if e.window/wide > 100_000 {
			wide = wider * int64(time.Second)
		}
	}
	left, right := rollup.Floor(from+wide-1, wide), rollup.Floor(to, wide)
	if unit >= wide || left >= right {
		return []span{{from, to, unit}}, nil
	}
	var all []span
	for _, s := range []span{{from, left, unit}, {left, right, wide}, {right, to, unit}} {
		if s.from < s.to {
			all = append(all, s)
		}
	}
	return all, nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// gaps returns the times in which no updates of a PV arrived.
func (h *Handler) gaps(ctx context.Context, pv string, from, to int64) (gaps []query.Unknown, err error) {
	all, err := h.Reader.Unknowns(ctx, pv, from, to)
	for _, u := range all {
		if u.Until == math.MaxInt64 {
			gaps = append(gaps, u)
		}
	}
	return gaps, err
}
