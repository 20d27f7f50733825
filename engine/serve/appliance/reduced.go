package appliance

import (
	"context"
	"iter"
	"math"
	"slices"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// readReduced reads a time range of a PV as the Appliance does from a store with reduced samples: the
// time-weighted means of the finest rollups, at the middle of each bin. It returns no runs for a PV
// without rollups of numbers, whose samples are not reduced.
func (h *Handler) readReduced(ctx context.Context, s *series, pv string, r timeRange) (out reduced, err error) {
	width, err := h.finestLevel(ctx, pv)
	if err != nil || width == 0 || !s.typ.Numeric() {
		return out, err
	}
	// With whole bins, the width of a point is that of the rollups.
	from, to := rollup.Floor(r.from, width), rollup.Floor(r.to, width)+width
	bins, err := h.Reader.Bins(ctx, pv, from, to, int((to-from)/width), query.BinOptions{First: true, Lost: &s.lost})
	if err != nil {
		return out, failed(pv, err)
	}
	s.width = width
	return reduced{means(bins.All, r.to), bins.CompleteUntil}, nil
}

// finestLevel returns the width of the finest rollups of a PV in ns, or 0 if it has none.
func (h *Handler) finestLevel(ctx context.Context, pv string) (int64, error) {
	ch, _, err := h.Reader.Store.Channel(ctx, pvname.Canonical(pv))
	if err != nil || len(ch.Levels) == 0 {
		return 0, err
	}
	finest := slices.MinFunc(ch.Levels, func(a, b store.Level) int { return int(a.Every() - b.Every()) })
	return int64(finest.Every()), nil
}

// meansPerRun is the number of samples in a run of means.
const meansPerRun = 1024

// means yields the mean of each bin with numbers that begins up to a time, with the worst severity.
func means(bins iter.Seq2[*rollup.Bin, error], until int64) iter.Seq2[*sample.Run, error] {
	return func(yield func(*sample.Run, error) bool) {
		run := &sample.Run{Type: sample.Float64}
		for b, err := range bins {
			if err != nil {
				yield(nil, err)
				return
			}
			if b.Kind != rollup.Number || b.Start > until {
				continue
			}
			run.Append(&sample.Sample{Time: b.Start + b.Width/2, Tag: sample.MakeTag(b.Severity, 0), Word: math.Float64bits(b.Mean)})
			if run.Len() < meansPerRun {
				continue
			}
			if !yield(run, nil) {
				return
			}
			run.Reset(sample.Float64)
		}
		if run.Len() > 0 {
			yield(run, nil)
		}
	}
}
