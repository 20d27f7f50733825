package native

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"varve.dev/varve/engine/predicate"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/table"
	"varve.dev/varve/engine/serve/value"
)

// maxFiltered is the maximum number of PVs in a request with the parameter where: each one is a
// search of its own.
const maxFiltered = 100

// condition is the parameter where.
type condition struct {
	*predicate.Predicate
	text string
}

func parseWhere(q *openapi.Query) (c condition, err error) {
	if c.text = q.Get("where"); strings.TrimSpace(c.text) == "" {
		return c, badRequest{errors.New("parameter where: a condition is required, such as SR:I > 0.5")}
	}
	if c.Predicate, err = predicate.Parse(c.text); err != nil {
		return c, badRequest{fmt.Errorf("parameter where: %w", err)}
	}
	return c, nil
}

// search prepares a search for the times in a range at which a condition holds.
func (h *Handler) search(ctx context.Context, c condition, from, to int64) (*predicate.Search, error) {
	s, err := c.Bind(ctx, h.Reader, c.text, from, to, h.Now().UnixNano())
	var refused predicate.RefusedError
	var unknown predicate.UnknownPVError
	switch {
	case errors.As(err, &refused):
		return nil, badRequest{fmt.Errorf("parameter where: %w", err)}
	case errors.As(err, &unknown):
		return nil, badRequest{fmt.Errorf("parameter where: %w%s", err, h.similar(ctx, unknown.PV))}
	}
	return s, err
}

// filtered answers the samples of PVs in a range while a predicate is true. For a PV:
//
//	{"pv":…, "metadata":{…}, "completeUntil":…, "where":…,
//	 "runs":[{"type":…,"samples":[…]},…],
//	 "seconds":{"true":…,"false":…,"unknown":…}}
//
// and for several PVs {"pvs":[…]}. The other formats have a table as writeLong writes it. The sample
// before the range is not in the answer.
func (h *Handler) filtered(ctx context.Context, q *openapi.Query) (reading, error) {
	if q.Has("points") {
		return reading{}, badRequest{errors.New("parameter points: it cannot be combined with the parameter where")}
	}
	c, err := parseWhere(q)
	if err != nil {
		return reading{}, err
	}
	s, err := h.span(ctx, q)
	if err == nil && len(s.pvs) > maxFiltered {
		err = badRequest{fmt.Errorf("parameter where: the request names %d PVs, and may name %d", len(s.pvs), maxFiltered)}
	}
	write := h.writeFiltered
	if s.format != table.JSON {
		write = h.writeFilteredTable
	}
	return reading{s.format, func(ctx context.Context, b *body) error { return write(ctx, b, &s, c) }}, err
}

// writeFiltered writes the samples of PVs while a predicate is true, in JSON.
func (h *Handler) writeFiltered(ctx context.Context, b *body, s *span, c condition) error {
	f, err := h.foresee(ctx, s.pvs, s.from, s.to)
	if err != nil {
		return err
	}
	search, err := h.search(ctx, c, s.from, s.to)
	if err != nil {
		return err
	}
	lost := uint64(0)
	err = b.each(s.pvs, len(s.pvs) > 1, func(i int, pv string) error {
		if i > 0 { // a search can be used once
			if search, err = h.search(ctx, c, s.from, s.to); err != nil {
				return err
			}
		}
		meta, found, err := h.Reader.Metadata(ctx, pv, s.to)
		if err != nil {
			return err
		}
		b.begin(pv, &meta, found)
		if until := min(f.until[i], search.CompleteUntil()); until < s.to {
			b.completeUntil(until)
		}
		b.Buf = value.AppendString(append(b.Buf, `,"where":`...), c.text)
		b.Buf = append(b.Buf, `,"runs":[`...)
		var d predicate.Durations
		var left query.Losses
		err = b.runs(search.Samples(ctx, pv, &left, &d))
		b.Buf = append(b.Buf, ']')
		b.seconds(&d)
		lost += left.Count() + search.Lost()
		return err
	})
	b.SetLost(lost)
	return err
}

// writeFilteredTable writes the samples of PVs while a predicate is true, as a table.
func (h *Handler) writeFilteredTable(ctx context.Context, b *body, s *span, c condition) error {
	f, err := h.foresee(ctx, s.pvs, s.from, s.to)
	if err != nil {
		return err
	}
	search, err := h.search(ctx, c, s.from, s.to)
	if err != nil {
		return err
	}
	w, err := table.NewWriter(s.format, b, &table.Schema{
		Columns: table.LongColumns(table.ValueType(f.types)),
		Notes:   s.notes(b, min(f.earliest(), search.CompleteUntil()), table.Note{Key: "where", Value: c.text}), Origin: h.Origin,
	})
	if err != nil {
		return err
	}
	rows, lost := table.NewLong(w), uint64(0)
	for i, pv := range s.pvs {
		if i > 0 { // a search can be used once
			if search, err = h.search(ctx, c, s.from, s.to); err != nil {
				return err
			}
		}
		var left query.Losses
		var d predicate.Durations
		if err := h.appendSamples(ctx, rows, pv, s.to, search.Samples(ctx, pv, &left, &d)); err != nil {
			return fmt.Errorf("reading %s: %w", pv, err)
		}
		lost += left.Count() + search.Lost()
	}
	return b.closeTable(w, lost)
}

// seconds writes how long a predicate had each result.
func (b *body) seconds(d *predicate.Durations) {
	b.Buf = append(b.Buf, `,"seconds":{"true":`...)
	for i, n := range []int64{d.True, d.False, d.Unknown} {
		b.Buf = append(b.Buf, []string{"", `,"false":`, `,"unknown":`}[i]...)
		b.Buf = fmt.Appendf(b.Buf, "%g", time.Duration(n).Seconds())
	}
	b.Buf = append(b.Buf, '}')
}

// notFalse yields intervals up to the end of a range, except those at which the predicate is false,
// and adds up the durations of all of them.
func notFalse(all iter.Seq2[predicate.Interval, error], to int64, d *predicate.Durations) iter.Seq2[predicate.Interval, error] {
	return func(yield func(predicate.Interval, error) bool) {
		for i, err := range all {
			if err == nil {
				d.Add(i)
				i.To = min(i.To, to)
			}
			if err == nil && i.State == predicate.False {
				continue
			}
			if !yield(i, err) || err != nil {
				return
			}
		}
	}
}
