package appliance

import (
	"iter"
	"math"

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
