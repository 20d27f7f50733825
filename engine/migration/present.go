package migration

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
)

// store stores the samples of a sorted run that the archive does not have.
func (o *one) store(ctx context.Context, run *sample.Run) error {
	n, last := run.Len(), run.Times[run.Len()-1]
	if o.opts.Store != nil && (o.known || run.Times[0] <= o.last) {
		if err := o.dropPresent(ctx, run); err != nil {
			return err
		}
	}
	o.last = max(o.last, last)
	o.report.Present += uint64(n - run.Len())
	if run.Len() == 0 || o.opts.DryRun {
		o.report.Stored += uint64(run.Len())
		return nil
	}
	n = run.Len()
	expired, err := o.out.Store(ctx, run.Clone())
	if err != nil {
		return err
	}
	o.report.Expired += uint64(expired)
	o.report.Stored += uint64(n - expired)
	return nil
}

// dropPresent drops the samples of a run that the archive has. The run is sorted.
func (o *one) dropPresent(ctx context.Context, run *sample.Run) error {
	has, err := o.reader.Read(ctx, o.name, run.Times[0], run.Times[run.Len()-1], query.Options{Inside: true})
	if errors.Is(err, query.ErrUnknownPV) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", o.name, err)
	}
	present := make([]bool, run.Len())
	next := 0
	for r, err := range has.All {
		if err != nil {
			return fmt.Errorf("reading %s: %w", o.name, err)
		}
		if r.Type == run.Type {
			next = markPresent(present, run, r, next, nil)
		}
	}
	rest := &sample.Run{Type: run.Type}
	for from := 0; from < run.Len(); {
		to := from
		for to < run.Len() && !present[to] {
			to++
		}
		rest.AppendRange(run, from, to)
		from = to + 1
	}
	*run = *rest
	return nil
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
