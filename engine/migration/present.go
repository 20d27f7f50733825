package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
)

// store stores the samples of a sorted run that the archive does not have.
func (o *one) store(ctx context.Context, run *sample.Run) error {
	if kept := o.deleted.Keep(run); kept != run {
		o.report.Expired += uint64(run.Len() - kept.Len())
		if run = kept; run.Len() == 0 {
			return nil
		}
	}
	n, first, last := run.Len(), run.Times[0], run.Times[run.Len()-1]
	if o.opts.Store != nil && (o.known || first <= o.last) {
		if first <= o.last { // the samples may be among those that were added before
			if err := o.out.show(); err != nil {
				return err
			}
		}
		if err := o.dropPresent(ctx, run); err != nil {
			return err
		}
	}
	o.last = max(o.last, last)
	o.report.Present += uint64(n - run.Len())
	if o.opts.DryRun {
		o.report.Stored += uint64(run.Len())
	}
	if run.Len() == 0 || o.opts.DryRun {
		return nil
	}
	if o.to != nil {
		run = o.dropLarge(run)
	}
	return o.out.add(ctx, run)
}

// maxValue is the size of the largest value that a row of the journal holds.
const maxValue = 17 << 20

// dropLarge drops the values that are too large for the journal, and reports them.
func (o *one) dropLarge(run *sample.Run) *sample.Run {
	rest := &sample.Run{Type: run.Type}
	for i := range run.Len() {
		switch {
		case run.Type.Fixed() || len(run.Bytes) <= maxValue:
			return run
		case len(run.Value(i)) <= maxValue:
			rest.AppendRange(run, i, i+1)
		default:
			o.Problem(o.name, 0, fmt.Errorf("the value at %s has %d bytes, more than %d", time.Unix(0, run.Times[i]).UTC().Format(time.RFC3339Nano), len(run.Value(i)), maxValue))
		}
	}
	return rest
}

// dropPresent drops the samples of a run that the archive has. The run is sorted.
func (o *one) dropPresent(ctx context.Context, run *sample.Run) error {
	r := o.older
	if run.Times[run.Len()-1] > o.now()-int64(recent) {
		r = o.reader
	}
	var rest *sample.Run
	err := o.try(ctx, "reading the samples of "+o.name, func(ctx context.Context) (err error) {
		rest, err = absent(ctx, r, o.name, run)
		return err
	})
	if err == nil && rest != run {
		*run = *rest
	}
	return err
}

// try calls f. In an archive with engines, whose servers may be away for some time, it calls f again after an error.
func (o *one) try(ctx context.Context, doing string, f func(ctx context.Context) error) error {
	if o.to == nil {
		return f(ctx)
	}
	var damaged *scan.Damaged
	err := o.to.retry(doing, func(ctx context.Context) error {
		err := f(ctx)
		if errors.As(err, &damaged) {
			return nil // no other PV is affected
		}
		return err
	})
	if err == nil && damaged != nil {
		return fmt.Errorf("%s: %w", doing, damaged)
	}
	return err
}

// markPresent marks the samples of a run that another run of the same type has. Both are sorted. It
// begins at sample next of run, and returns where the next run of the archive may continue. If found is
// not nil, it is called with each sample of the archive that run has.
func markPresent(present []bool, run, r *sample.Run, next int, found func(*sample.Sample)) int {
	for i := range r.Len() {
		for next < run.Len() && run.Times[next] < r.Times[i] {
			next++
		}
		has := r.At(i)
		for k := next; k < run.Len() && run.Times[k] == has.Time; k++ {
			if s := run.At(k); !present[k] && s.Same(&has) {
				if present[k] = true; found != nil {
					found(&has)
				}
			}
		}
	}
	return next
}
