package migration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"

	"varve.dev/varve/engine/pbfile"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
)

// files reads the files of the PV. It leaves out those that have no sample between the bounds.
func (o *one) files(ctx context.Context, files []File) error {
	for _, f := range files {
		if p := f.Name.Partition; p.End > o.opts.Since && p.Start < o.opts.Until {
			if err := o.file(ctx, &f); err != nil {
				return err
			}
		}
		o.Progress.Files.Add(1)
		o.Progress.Bytes.Add(f.Size)
	}
	return nil
}

// file reads a file. An error ends the import of the PV; what is damaged in the file does not.
func (o *one) file(ctx context.Context, f *File) error {
	in, err := os.Open(f.Path)
	if err != nil {
		o.report.problem(f.Path, 0, err)
		return nil
	}
	defer in.Close()
	r := pbfile.NewReader(in)
	r.Within = f.Name.Partition
	r.Problem = func(p pbfile.Problem) { o.report.problem(f.Path, p.Offset, p.Err) }
	r.Change = o.change
	h, err := r.Header()
	if err != nil {
		o.report.problem(f.Path, 0, err)
		return nil
	}
	for err = nil; ; {
		more, failed := o.chunk(ctx, r, f, &h, err)
		if failed != nil || !more {
			return failed
		}
		h, err = r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return ctx.Err()
		case err != nil && !errors.Is(err, pbfile.ErrNoHeader):
			o.report.problem(f.Path, r.Offset(), err)
			return ctx.Err()
		}
	}
}

// chunk reads the samples that follow the header h. reason is the error of reading h, or nil. more is true if
// another header may follow.
func (o *one) chunk(ctx context.Context, r *pbfile.Reader, f *File, h *pbfile.Header, reason error) (more bool, err error) {
	switch {
	case reason != nil:
	case pvname.Canonical(h.PV) != o.name:
		reason = fmt.Errorf("the header before this line names the PV %s", h.PV)
	case h.Type == sample.Unknown:
		reason = fmt.Errorf("samples of payload type %d are not supported", h.Payload)
	default:
		return o.samples(ctx, r, f, h.Type)
	}
	at, err := r.Offset(), r.Skip(reason)
	if err != nil && !errors.Is(err, pbfile.ErrNextChunk) {
		o.report.problem(f.Path, at, err)
	}
	return errors.Is(err, pbfile.ErrNextChunk), ctx.Err()
}

// samples reads samples up to the next empty line, in batches.
func (o *one) samples(ctx context.Context, r *pbfile.Reader, f *File, t sample.Type) (more bool, err error) {
	for run := (&sample.Run{Type: t}); ; run.Reset(t) {
		at, err := r.Offset(), r.Read(run, batch)
		if run.Len() > 0 {
			if err := o.useBatch(ctx, run); err != nil {
				return false, err
			}
		}
		switch {
		case errors.Is(err, pbfile.ErrNextChunk):
			return true, ctx.Err()
		case errors.Is(err, io.EOF):
			return false, ctx.Err()
		case err != nil: // the disk fails
			o.report.problem(f.Path, at, err)
			return false, ctx.Err()
		}
	}
}

// useBatch passes on the samples of a batch that must be imported.
func (o *one) useBatch(ctx context.Context, run *sample.Run) error {
	n := run.Len()
	if err := o.pace.wait(ctx, n); err != nil {
		return err
	}
	o.Progress.Samples.Add(int64(n))
	run.Normalize()
	o.report.count(run)
	total := run.Len()
	wanted := cut(run, o.opts.Since, o.opts.Until)
	o.report.Outside += uint64(total - wanted.Len())
	kept := cut(wanted, o.cutoff, math.MaxInt64)
	o.report.Deleted += uint64(wanted.Len() - kept.Len())
	if kept.Len() > 0 {
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
