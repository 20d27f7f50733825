package appliance

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"sort"

	"varve.dev/varve/engine/postprocess"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
)

// ofBin are the statistics that rollups can answer, by the name of the post-processor. The mean and the
// deviation of a rollup are time-weighted, and so are the numbers that follow from them.
var ofBin = map[string]func(b *rollup.Bin) []float64{
	"mean":        func(b *rollup.Bin) []float64 { return []float64{b.Mean} },
	"min":         func(b *rollup.Bin) []float64 { return []float64{b.Min} },
	"max":         func(b *rollup.Bin) []float64 { return []float64{b.Max} },
	"count":       func(b *rollup.Bin) []float64 { return []float64{float64(b.Count)} },
	"std":         func(b *rollup.Bin) []float64 { return []float64{b.Std} },
	"variance":    func(b *rollup.Bin) []float64 { return []float64{b.Std * b.Std} },
	"popvariance": func(b *rollup.Bin) []float64 { return []float64{b.Std * b.Std} },
	"rms":         func(b *rollup.Bin) []float64 { return []float64{math.Hypot(b.Mean, b.Std)} },
	"jitter":      func(b *rollup.Bin) []float64 { return []float64{b.Std / b.Mean} },
	"errorbar":    func(b *rollup.Bin) []float64 { return []float64{b.Mean, b.Std} },
	"stats":       func(b *rollup.Bin) []float64 { return []float64{b.Mean, b.Std, b.Min, b.Max, float64(b.Count)} },
}

// applyToExpired applies a post-processor to a range in which the samples of a part have expired. gone is that part.
// It begins later than the range if an older archive has the earlier samples.
//
//	r.from       begin      gone.from     gone.to     cut          r.to
//	  │ samples    │      bins from rollups           │   samples    │
//
// Bins of the part come from rollups, and the others from samples: no bin comes from both. Rollups whose
// width does not divide that of the bins cannot answer, and bins that they lack are left out. If rollups
// cannot answer at all, runs is nil.
func (h *Handler) applyToExpired(ctx context.Context, pv string, op *postprocess.Func, r, gone timeRange, lost *query.Losses) (out reduced, err error) {
	name, width := op.Statistic()
	if ofBin[name] == nil {
		return out, nil
	}
	begin, cut := r.from, rollup.Floor(gone.to-1, width)+width
	if gone.from > r.from {
		begin = max(r.from, rollup.Floor(gone.from, width))
	}
	bins, err := h.Reader.Bins(ctx, pv, begin, min(r.to, cut-1), 0, query.BinOptions{Width: width, Empty: op.Fills(), Lost: lost})
	if err != nil || !bins.Stored {
		return out, failed(pv, err)
	}
	until := bins.CompleteUntil
	parts := []iter.Seq2[*sample.Run, error]{fromRollups(bins.All, name, width)}
	if r.from < begin {
		first, err := h.applyBetween(ctx, pv, op, timeRange{r.from, begin - 1}, lost)
		if err != nil {
			return out, err
		}
		parts, until = append([]iter.Seq2[*sample.Run, error]{first.runs}, parts...), min(until, first.until)
	}
	if cut <= r.to {
		rest, err := h.applyBetween(ctx, pv, op, timeRange{cut, r.to}, lost)
		if err != nil {
			return out, err
		}
		parts, until = append(parts, startingAt(rest.runs, cut)), min(until, rest.until)
	}
	return reduced{joined(parts), until}, nil
}

// applyBetween applies a post-processor to the samples of a range.
func (h *Handler) applyBetween(ctx context.Context, pv string, op *postprocess.Func, r timeRange, lost *query.Losses) (reduced, error) {
	read, err := h.Reader.Read(ctx, pv, r.from, r.to, query.Options{Lost: lost})
	if err != nil {
		return reduced{}, fmt.Errorf("reading %s: %w", pv, err)
	}
	return reduced{op.Apply(read.All, r.from, r.to), read.CompleteUntil}, nil
}

// fromRollups yields a statistic of each bin of the given width, at its middle.
func fromRollups(bins iter.Seq2[*rollup.Bin, error], name string, width int64) iter.Seq2[*sample.Run, error] {
	of := ofBin[name]
	return func(yield func(*sample.Run, error) bool) {
		run := new(sample.Run)
		for b, err := range bins {
			if err != nil {
				yield(nil, err)
				return
			}
			if b.Width != width || b.Kind != rollup.Number && name != "count" {
				continue
			}
			appendNumbers(run, b, of(b))
			if run.Len() < meansPerRun {
				continue
			}
			if !yield(run, nil) {
				return
			}
			run.Reset(run.Type)
		}
		if run.Len() > 0 {
			yield(run, nil)
		}
	}
}

// appendNumbers appends a sample at the middle of a bin: a number, or an array if there are several.
func appendNumbers(run *sample.Run, b *rollup.Bin, v []float64) {
	s := sample.Sample{Time: b.Start + b.Width/2, Tag: sample.MakeTag(b.Severity, 0)}
	if run.Type = sample.Float64; len(v) > 1 {
		run.Type = run.Type.Array()
		for _, x := range v {
			s.Bytes = binary.LittleEndian.AppendUint64(s.Bytes, math.Float64bits(x))
		}
	} else {
		s.Word = math.Float64bits(v[0])
	}
	run.Append(&s)
}

// startingAt yields the samples at or after a time.
func startingAt(runs iter.Seq2[*sample.Run, error], at int64) iter.Seq2[*sample.Run, error] {
	return func(yield func(*sample.Run, error) bool) {
		var part sample.Run
		for r, err := range runs {
			if err == nil && r.Times[0] < at {
				i := sort.Search(r.Len(), func(i int) bool { return r.Times[i] >= at })
				if i == r.Len() {
					continue
				}
				r.Part(&part, i, r.Len())
				r = &part
			}
			if !yield(r, err) {
				return
			}
		}
	}
}
