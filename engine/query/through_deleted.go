package query

import (
	"context"
	"iter"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// outsideKept yields the samples of the older archive, as Through.Samples does, without those that users have deleted
// in this archive: the older archive does not bring them back. If the last sample before from is deleted, an
// earlier one takes its place. A sample at from may come without one before it, so if it is deleted, the same applies.
func (r *Reader) outsideKept(ctx context.Context, pv string, from, to int64, deleted store.Mask) iter.Seq2[*sample.Run, error] {
	name := r.outsideName(ctx, pv)
	if len(deleted) == 0 {
		return r.Through.Samples(ctx, name, from, to)
	}
	return func(yield func(*sample.Run, error) bool) {
		first := true
		for run, err := range r.Through.Samples(ctx, name, from, to) {
			if err != nil {
				yield(nil, err)
				return
			}
			if at := run.Times[0]; first && at <= from && deleted.Hides(at) {
				before, err := r.outsideBefore(ctx, name, at, deleted)
				if err != nil {
					yield(nil, err)
					return
				}
				if before != nil && !yield(before, nil) {
					return
				}
			}
			first = false
			if kept := deleted.Keep(run); kept.Len() > 0 && !yield(kept, nil) {
				return
			}
		}
	}
}

// outsideBefore returns the last sample of the older archive before the deleted ranges that hide the sample of a time.
// It returns nil if there is none.
func (r *Reader) outsideBefore(ctx context.Context, name string, at int64, deleted store.Mask) (last *sample.Run, err error) {
	for deleted.Hides(at) {
		before := deleted.Within(Earliest, at)
		from := before[len(before)-1].From - 1
		if from < Earliest {
			return nil, nil
		}
		last = nil
		for run, err := range r.Through.Samples(ctx, name, from, from) {
			if err != nil {
				return nil, err
			}
			one := new(sample.Run)
			run.Part(one, run.Len()-1, run.Len())
			last = one.Clone()
		}
		if last == nil {
			return nil, nil
		}
		at = last.Times[0]
	}
	return last, nil
}
