package migration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"

	"varve.dev/varve/engine/pbfile"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
)

// PVs implements Source.
func (t *Tree) PVs() []string { return slices.Sorted(maps.Keys(t.Files)) }

// Read implements Source. It leaves out the files that have no sample between the bounds.
func (t *Tree) Read(ctx context.Context, pv string, since, until int64, to Sink) error {
	r := &fileReader{name: pv, since: since, until: until, to: to}
	for _, f := range t.Files[pv] {
		if p := f.Name.Partition; p.End > since && p.Start < until {
			if err := r.file(ctx, &f); err != nil {
				return err
			}
		}
		to.Progress(1, f.Size)
	}
	return nil
}

// fileReader reads the files of a PV.
type fileReader struct {
	name         string // canonical
	since, until int64  // ns since 1970
	to           Sink
}

// file reads a file. Damage in the file does not end the reading.
func (o *fileReader) file(ctx context.Context, f *File) error {
	in, err := os.Open(f.Path)
	if err != nil {
		o.to.Problem(f.Path, 0, err)
		return nil
	}
	defer in.Close()
	r := pbfile.NewReader(in)
	r.Within = f.Name.Partition
	r.Problem = func(p pbfile.Problem) { o.to.Problem(f.Path, p.Offset, p.Err) }
	r.Change = o.change
	h, err := r.Header()
	if err != nil {
		o.to.Problem(f.Path, 0, err)
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
			o.to.Problem(f.Path, r.Offset(), err)
			return ctx.Err()
		}
	}
}

// chunk reads the samples that follow the header h. reason is the error of reading h, or nil. more is true if
// another header may follow.
func (o *fileReader) chunk(ctx context.Context, r *pbfile.Reader, f *File, h *pbfile.Header, reason error) (more bool, err error) {
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
		o.to.Problem(f.Path, at, err)
	}
	return errors.Is(err, pbfile.ErrNextChunk), ctx.Err()
}

// samples reads samples up to the next empty line, in batches.
func (o *fileReader) samples(ctx context.Context, r *pbfile.Reader, f *File, t sample.Type) (more bool, err error) {
	for run := (&sample.Run{Type: t}); ; run.Reset(t) {
		at, err := r.Offset(), r.Read(run, Batch)
		if run.Len() > 0 {
			if err := o.to.Samples(ctx, run); err != nil {
				return false, err
			}
		}
		switch {
		case errors.Is(err, pbfile.ErrNextChunk):
			return true, ctx.Err()
		case errors.Is(err, io.EOF):
			return false, ctx.Err()
		case err != nil: // the disk fails
			o.to.Problem(f.Path, at, err)
			return false, ctx.Err()
		}
	}
}

// Fields of the Archiver Appliance, which hold seconds since 1970.
const (
	lostAt     = "cnxlostepsecs"
	regainedAt = "cnxregainedepsecs"
)

// change passes on the marks that the fields of a sample stand for.
func (o *fileReader) change(c pbfile.Change) { ConnectionMarks(&c, o.to) }

// ConnectionMarks passes on the marks that the fields of a sample of the Archiver Appliance stand for: when the
// Appliance lost the connection to the PV before the sample, and when it connected again.
func ConnectionMarks(c *pbfile.Change, to Sink) {
	for _, f := range c.Fields {
		kind := sample.Disconnected
		switch f.Name {
		case lostAt:
		case regainedAt:
			kind = sample.Connected
		default:
			continue
		}
		at, err := strconv.ParseInt(f.Value, 10, 64)
		if err != nil || at <= 0 || at > c.Time/1e9 { // 0 stands for no connection before
			continue
		}
		to.Mark(sample.Mark{Time: at * 1e9, Kind: kind, Text: "recorded by the Archiver Appliance"})
	}
}
