package native

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/serve/table"
)

var longParameters = request.Known{Once: []string{"from", "to", "format", "group"}, Repeated: []string{"pv"}}

// long answers the samples of PVs in a range as a table in a format for data analysis, with a row for
// each sample: see table.LongColumns. The PVs follow each other. Each begins with its last sample
// before the range. If the newest samples of a PV are missing, or samples in damaged blocks, the
// headers of the answer say so, and in Parquet also the metadata of the file.
func (h *Handler) long(w http.ResponseWriter, r *http.Request, q url.Values, format table.Format) {
	if q.Has("points") {
		h.failRead(w, r, badRequest{fmt.Errorf("parameter points: an answer in the format %s has samples; for bins of several PVs, use align=1m&fill=mean", format)})
		return
	}
	if err := longParameters.Check(q); err != nil {
		h.failRead(w, r, badRequest{err})
		return
	}
	from, to, err := h.rangeOf(q)
	var pvs []string
	if err == nil {
		pvs, err = h.selected(r.Context(), q)
	}
	if err != nil {
		h.failRead(w, r, err)
		return
	}
	leave, err := h.Reads.Enter(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	a := stream.New(w, format.ContentType())
	err = h.writeLong(r.Context(), answerWriter{a}, pvs, from, to, format)
	a.Finish(r, h.Log, err, func(err error) { h.failRead(w, r, err) })
}

// answerWriter writes an answer.
type answerWriter struct{ *stream.Answer }

// Write implements io.Writer.
func (a answerWriter) Write(p []byte) (int, error) {
	a.Buf = append(a.Buf, p...)
	return len(p), a.FlushFull()
}

func (h *Handler) writeLong(ctx context.Context, a answerWriter, pvs []string, from, to int64, format table.Format) error {
	until, types, err := h.foresee(ctx, pvs, to)
	if err != nil {
		return err
	}
	notes := []table.Note{{Key: "from", Value: clock(from)}, {Key: "to", Value: clock(to)}}
	if until < to {
		a.SetCompleteUntil(until)
		notes = append(notes, table.Note{Key: "completeUntil", Value: clock(until)})
	}
	w, err := table.NewWriter(format, a, &table.Schema{Columns: table.LongColumns(table.ValueType(types)), Notes: notes})
	if err != nil {
		return err
	}
	rows, lost := table.NewLong(w), uint64(0)
	for _, pv := range pvs {
		n, err := h.appendSamples(ctx, a, rows, pv, from, to)
		if err != nil {
			return fmt.Errorf("reading %s: %w", pv, err)
		}
		lost += n
	}
	if a.SetLost(lost); lost > 0 {
		w.Note("lostSamples", strconv.FormatUint(lost, 10))
	}
	return w.Close()
}

// foresee returns, before the first byte of an answer, until when the samples of PVs are complete, and
// the types that they have or had. It fails if a PV is unknown.
func (h *Handler) foresee(ctx context.Context, pvs []string, to int64) (until int64, types []sample.Type, err error) {
	type foreseen struct {
		until int64
		types []sample.Type
	}
	until = query.Latest
	err = query.InOrder(ctx, pvs, func(ctx context.Context, pv string) (f foreseen, err error) {
		last, err := h.Reader.LastAt(ctx, pv, to)
		if err == nil {
			f.types, err = h.Reader.Types(ctx, pv)
		}
		if errors.Is(err, query.ErrUnknownPV) {
			err = fmt.Errorf("%w%s", err, h.similar(ctx, pv))
		}
		if err != nil {
			return f, fmt.Errorf("reading %s: %w", pv, err)
		}
		if last.Run != nil { // the directory may not have its type yet
			f.types = append(f.types, last.Run.Type)
		}
		f.until = last.CompleteUntil
		return f, nil
	}, func(_ string, f foreseen) error {
		until, types = min(until, f.until), append(types, f.types...)
		return nil
	})
	return until, types, err
}

// appendSamples appends the samples of a PV. It returns the number of samples that are left out.
func (h *Handler) appendSamples(ctx context.Context, a answerWriter, rows *table.Long, pv string, from, to int64) (left uint64, err error) {
	meta, _, err := h.Reader.Metadata(ctx, pv, to)
	if err != nil {
		return 0, err
	}
	var lost query.Losses
	s, err := h.Reader.Read(ctx, pv, from, to, query.Options{Lost: &lost})
	if err != nil {
		return 0, err
	}
	if s.CompleteUntil < to {
		a.SetCompleteUntil(s.CompleteUntil)
	}
	d := table.Description{Units: meta.Units, Labels: meta.Labels}
	for run, err := range s.All {
		if err != nil {
			return 0, err
		}
		if err := rows.Append(pv, &d, run); err != nil {
			return 0, err
		}
	}
	return lost.Count(), nil
}
