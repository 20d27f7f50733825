package appliance

import (
	"iter"
	"math"

	"varve.dev/varve/engine/postprocess"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
)

// joined yields the samples of several time ranges. A range begins with the last sample before it, or
// with a bin that begins before it, and so may repeat what the range before it has. joined leaves out
// these samples, so that times never decrease.
func joined(parts []iter.Seq2[*sample.Run, error]) iter.Seq2[*sample.Run, error] {
	if len(parts) == 1 {
		return parts[0]
	}
	return func(yield func(*sample.Run, error) bool) {
		last, rest := int64(math.MinInt64), &sample.Run{}
		for _, part := range parts {
			after := last // the end of the ranges before
			for r, err := range part {
				if err != nil {
					yield(nil, err)
					return
				}
				if r = since(r, after, rest); r.Len() == 0 {
					continue
				}
				last = r.Times[r.Len()-1]
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// starts returns the function that returns the start of the bin of a time, as postprocess.Func does for the
// range of the time. It returns nil if the samples of the answer keep their times. width is as in series.
func (a *dataQuery) starts(op *postprocess.Func, width int64) func(t int64) int64 {
	switch {
	case width > 0:
		return func(t int64) int64 { return rollup.Floor(t, width) }
	case op == nil || op.Starts(a.from, a.to) == nil:
		return nil
	}
	var all []func(t int64) int64
	for _, r := range a.ranges {
		all = append(all, op.Starts(r.from, r.to))
	}
	return func(t int64) int64 {
		i := 0
		for i < len(a.ranges)-1 && a.ranges[i].to < t {
			i++
		}
		return all[i](t)
	}
}

// since returns the samples of a run that are later than a time. It uses rest if these are not all.
func since(r *sample.Run, after int64, rest *sample.Run) *sample.Run {
	i := 0
	for i < r.Len() && r.Times[i] <= after {
		i++
	}
	if i == 0 {
		return r
	}
	rest.Reset(r.Type)
	if i < r.Len() {
		rest.AppendRange(r, i, r.Len())
	}
	return rest
}
