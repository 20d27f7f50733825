package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/serve/table"
)

// settling is how long after its time a sample may arrive, without being late: clocks of IOCs differ
// a little.
const settling = time.Minute

// file is the Parquet file of a PV and a day.
type file struct {
	*content
	etag string
	// until is the time, in ns since 1970, up to which the file is complete, or query.Latest if it
	// is complete.
	until int64
	lost  uint64 // samples in damaged blocks, which the file leaves out
}

// emptyError is the error of a day without samples.
type emptyError struct {
	key
	until int64 // as in file
}

// Error implements error.
func (e emptyError) Error() string {
	if e.until < query.Latest {
		return fmt.Sprintf("%s has no samples on %s so far", e.pv, e.day)
	}
	return fmt.Sprintf("%s has no samples on %s", e.pv, e.day)
}

// build reads the samples of a day and writes its file to body. If samples do not fit into the column
// of values, it starts again with a wider column.
func (h *Handler) build(ctx context.Context, k key, body *content) (*file, error) {
	leave, err := h.Reads.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var types []sample.Type // of the samples that did not fit, and of the first one
	for {
		b := builder{h: h, key: k, body: body, types: types}
		f, err := b.run(ctx)
		var unfit *table.TypeError
		if !errors.As(err, &unfit) {
			return f, err
		}
		types = b.types
		if slices.Contains(types, unfit.Type) { // the type fits, but not this sample without rounding
			unfit.Type = sample.String // makes the column one of texts
		}
		types = append(types, unfit.Type)
		body.restart()
	}
}

// builder is one attempt to build a file.
type builder struct {
	h *Handler
	key
	body  *content
	types []sample.Type // which the column of values must hold
	until int64
	w     *table.Writer
	rows  *table.Long
}

func (b *builder) run(ctx context.Context) (*file, error) {
	settled := b.h.Now().Add(-settling).UnixNano()
	var lost query.Losses
	s, err := b.h.Reader.Read(ctx, b.pv, b.day.from(), b.day.to(), query.Options{Inside: true, Lost: &lost})
	if err != nil {
		return nil, err
	}
	if b.until = min(s.CompleteUntil, settled); b.until >= b.day.end() {
		b.until = query.Latest
	}
	meta, _, err := b.h.Reader.Metadata(ctx, b.pv, b.day.to())
	if err != nil {
		return nil, err
	}
	d := table.Description{Units: meta.Units, Labels: meta.Labels}
	var had []string
	for run, err := range s.All {
		if err == nil {
			err = b.append(&d, run)
		}
		if err != nil {
			return nil, err
		}
		if name := run.Type.String(); !slices.Contains(had, name) {
			had = append(had, name)
		}
	}
	if b.w == nil && lost.Count() == 0 {
		return nil, emptyError{b.key, b.until}
	}
	return b.end(had, lost.Count())
}

// append appends samples. The first ones decide the type of the column, with those that did not fit
// in an earlier attempt.
func (b *builder) append(d *table.Description, run *sample.Run) error {
	if b.w == nil {
		if !slices.Contains(b.types, run.Type) {
			b.types = append(b.types, run.Type)
		}
		if err := b.begin(); err != nil {
			return err
		}
	}
	return b.rows.Append(b.pv, d, run)
}

func (b *builder) begin() (err error) {
	notes := []table.Note{{Key: "pv", Value: b.pv}, {Key: "from", Value: clock(b.day.from())}, {Key: "to", Value: clock(b.day.to())}}
	if b.until < query.Latest {
		notes = append(notes, table.Note{Key: "completeUntil", Value: stream.Until(b.until)})
	}
	b.w, err = table.NewWriter(table.Parquet, b.body, &table.Schema{Columns: table.LongColumns(table.ValueType(b.types)), Notes: notes, Origin: b.h.Origin})
	if err == nil {
		b.rows = table.NewLong(b.w)
	}
	return err
}

// end completes the file. had are the names of the types of the samples.
func (b *builder) end(had []string, lost uint64) (*file, error) {
	if b.w == nil { // all samples are lost
		if err := b.begin(); err != nil {
			return nil, err
		}
	}
	b.w.Note("types", strings.Join(had, ","))
	if lost > 0 {
		b.w.Note("lostSamples", strconv.FormatUint(lost, 10))
		b.h.Log.Warn("a file lacks samples, because blocks are damaged; run `varve store check`", "pv", b.pv, "day", b.day.String(), "samples", lost)
	}
	if err := b.w.Close(); err != nil {
		return nil, err
	}
	return &file{content: b.body, etag: b.body.etag(), until: b.until, lost: lost}, nil
}

// clock formats a time in ns since 1970.
func clock(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
