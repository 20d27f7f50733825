package query

import (
	"context"
	"math"
	"sort"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/rollup"
)

// findSeam finds out whether the bins need samples of another archive. failed is the error of collecting
// the unsealed samples of this one.
func (b *binning) findSeam(ctx context.Context, r *Reader, lost *Losses, failed error) (err error) {
	if b.seam, err = r.seam(ctx, b.p.PV, failed); err != nil {
		return err
	}
	b.joinFirst()
	pv := pvname.Canonical(b.p.PV)
	b.joined = func(ctx context.Context, from, to int64) (*Samples, error) {
		return r.Read(ctx, pv, from, to, Options{Lost: lost})
	}
	return nil
}

// joinFirst makes the first bin one that is computed from the samples of both archives, or of all names, if samples between
// the seam and the first bin are deleted: the value that the PV held may be that of a sample from before the seam.
func (b *binning) joinFirst() {
	if b.seam != ownOnly && b.seam <= b.first && b.p.Deleted.Overlaps(b.seam, b.first) {
		b.seam = b.first + 1
	}
}

// runJoined computes the bins that begin before the seam from the samples of both archives, and the others
// as run does:
//
//	first        aligned      split    next                end
//	  │ samples, in │ samples, in │ finest │ all levels      │
//	  │ whole bins  │ narrow bins │ level  │                 │
//	                     seam ──┘
//
// The bin that contains the seam is computed from narrow bins and the finest level.
func (b *binning) runJoined(ctx context.Context) error {
	unit := b.unit()
	split := b.end
	if b.seam < b.end {
		split = min(b.end, rollup.Floor(b.seam-1, unit)+unit)
	}
	aligned := rollup.Floor(split, b.width)
	if err := b.computeJoined(ctx, b.first, aligned, b.width); err != nil {
		return err
	}
	if err := b.computeJoined(ctx, aligned, split, unit); err != nil {
		return err
	}
	next := min(b.end, rollup.Floor(split+b.width-1, b.width))
	if split < next {
		if err := b.coverRange(ctx, b.behindSeam(split, next)); err != nil {
			return err
		}
	}
	if next < b.end {
		if err := b.coverRange(ctx, b.behindSeam(next, b.end)); err != nil {
			return err
		}
	}
	return b.join.close(b.end)
}

// behindSeam returns a range of bins of this archive. Its first stored bin does not know the value that the PV held
// before, so it is computed from samples if they have not expired.
func (b *binning) behindSeam(lo, hi int64) missing {
	return missing{lo, hi, lo >= b.whole || b.anyFresh(Earliest, lo)}
}

// computeJoined computes the bins in [lo, hi) from the samples of both archives.
func (b *binning) computeJoined(ctx context.Context, lo, hi, width int64) error {
	if lo >= hi {
		return nil
	}
	read, err := b.joined(ctx, lo, hi-1)
	if err != nil {
		return err
	}
	b.p.completeUntil = min(b.p.completeUntil, read.CompleteUntil)
	acc := rollup.NewAccumulator(width)
	if b.join.known {
		acc.Hold(&b.join.last)
	}
	var bins []rollup.Bin
	for run, err := range read.All {
		if err != nil {
			return err
		}
		first := sort.Search(run.Len(), func(i int) bool { return run.Times[i] >= lo })
		if first > 0 && !b.join.known { // the last sample before
			before := rollup.NewAccumulator(width)
			if held := before.Close(before.Add(nil, run, 0, first), math.MaxInt64); len(held) > 0 {
				b.join.hold(&held[len(held)-1])
				acc.Hold(&b.join.last)
			}
		}
		bins = acc.Add(bins[:0], run, first, run.Len())
		if err := b.join.addAll(bins); err != nil {
			return err
		}
	}
	return b.join.addAll(acc.Close(bins[:0], math.MaxInt64))
}
