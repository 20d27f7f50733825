package migration

import (
	"context"
	"fmt"
	"math"
	"sort"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// read reads the PV from the source.
func (o *one) read(ctx context.Context, src Source) error {
	if err := src.Read(ctx, o.name, o.opts.Since, o.opts.Until, o); err != nil {
		return err
	}
	o.noteOverruled()
	return o.putMarks(ctx) // those after the last batch
}

// Samples implements Sink. It passes on the samples that must be imported.
func (o *one) Samples(ctx context.Context, run *sample.Run) error {
	n := run.Len()
	if n == 0 {
		return o.putMarks(ctx)
	}
	if err := o.pace.wait(ctx, n); err != nil {
		return err
	}
	o.Importer.Progress.Samples.Add(int64(n))
	run.Normalize()
	o.report.count(run)
	total := run.Len()
	wanted := cut(run, o.opts.Since, o.opts.Until)
	o.report.Outside += uint64(total - wanted.Len())
	kept := cut(wanted, o.cutoff, math.MaxInt64)
	o.report.Deleted += uint64(wanted.Len() - kept.Len())
	if kept.Len() > 0 {
		if err := o.putMetadata(ctx, kept); err != nil {
			return err
		}
		if err := o.use(ctx, kept); err != nil {
			return err
		}
	}
	return o.putMarks(ctx)
}

// cut returns the samples of a sorted run from a time up to, not including, another one.
func cut(run *sample.Run, from, until int64) *sample.Run {
	first := sort.Search(run.Len(), func(i int) bool { return run.Times[i] >= from })
	end := sort.Search(run.Len(), func(i int) bool { return run.Times[i] >= until })
	if first == 0 && end == run.Len() {
		return run
	}
	out := &sample.Run{Type: run.Type}
	out.AppendRange(run, first, max(first, end))
	return out
}

// putMarks stores the marks that were noted.
func (o *one) putMarks(ctx context.Context) error {
	marks := o.marks
	o.marks = o.marks[:0]
	if len(marks) == 0 || o.opts.DryRun || o.verifying {
		return nil
	}
	if err := o.try(ctx, "writing marks of "+o.name, func(ctx context.Context) error { return o.opts.Store.PutMarks(ctx, marks...) }); err != nil {
		return fmt.Errorf("writing marks of %s: %w", o.name, err)
	}
	return nil
}

// Metadata implements Sink.
func (o *one) Metadata(m *sample.Metadata) { o.metadata = m }

// putMetadata stores the metadata as of the first sample, unless the archive knows what they were at that
// time.
func (o *one) putMetadata(ctx context.Context, run *sample.Run) error {
	m := o.metadata
	if o.metadata = nil; m == nil || o.opts.DryRun || o.verifying {
		return nil
	}
	entry := store.PVMetadata{PV: o.name, Time: run.Times[0], Metadata: *m}
	entry.Type, entry.Count = run.Type, 1
	if size := run.Type.ElemSize(); run.Type.IsArray() && size > 0 {
		entry.Count = len(run.Value(0)) / size
	}
	return o.try(ctx, "writing the metadata of "+o.name, func(ctx context.Context) error {
		known, found, err := o.opts.Store.MetadataAt(ctx, o.name, entry.Time)
		if err != nil {
			return fmt.Errorf("reading the metadata of %s: %w", o.name, err)
		}
		if found && known.Time <= entry.Time {
			return nil
		}
		if err := o.opts.Store.PutMetadata(ctx, entry); err != nil {
			return fmt.Errorf("writing the metadata of %s: %w", o.name, err)
		}
		return nil
	})
}

// Problem implements Sink.
func (o *one) Problem(place string, offset int64, err error) { o.report.problem(place, offset, err) }

// Note implements Sink.
func (o *one) Note(text string) {
	if len(o.report.Notes) < maxProblems {
		o.report.Notes = append(o.report.Notes, text)
	}
}

// Progress implements Sink.
func (o *one) Progress(files int, bytes int64) {
	o.Importer.Progress.Files.Add(int64(files))
	o.Importer.Progress.Bytes.Add(bytes)
}
