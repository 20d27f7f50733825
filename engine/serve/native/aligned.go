package native

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"varve.dev/varve/engine/align"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/serve/table"
)

// Bounds of the distance of the rows of an aligned table.
const (
	minStep = time.Millisecond
	maxStep = 366 * 24 * time.Hour
)

var days = regexp.MustCompile(`^(\d{1,4})([dw])$`)

// parseStep parses the parameter align: a duration such as 100ms, 1s, 5m, 1h or 1d.
func parseStep(text string) (int64, error) {
	step, err := time.ParseDuration(text)
	if m := days.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // the pattern has digits only
		if step, err = time.Duration(n)*24*time.Hour, nil; m[2] == "w" {
			step *= 7
		}
	}
	if err != nil || step < minStep || step > maxStep {
		return 0, badRequest{fmt.Errorf("parameter align: %.50q is not a duration from 1ms to 366d; write it like 100ms, 1s, 5m, 1h or 1d", text)}
	}
	return int64(step), nil
}

// aligned answers a table of many PVs with a common grid of times. It has the column time, and a column
// for each PV. In JSON:
//
//	{"notes":{"align":…,"fill":…,"from":…,"to":…},
//	 "columns":[{"name":"time","type":"time"},{"name":…,"type":"float64","unit":…},…],
//	 "rows":[["2026-01-01T00:00:00.000000000Z",1.0,null],…]}
//
// A row has null for a PV without a value.
func (h *Handler) aligned(ctx context.Context, q *openapi.Query) (reading, error) {
	for _, name := range []string{"where", "points"} {
		if q.Has(name) {
			return reading{}, badRequest{fmt.Errorf("parameter %s: it cannot be combined with the parameter align", name)}
		}
	}
	o := align.Options{Now: h.Now().UnixNano()}
	var err error
	if o.Step, err = parseStep(q.Get("align")); err != nil {
		return reading{}, err
	}
	if fill := q.Get("fill"); fill != "" {
		if o.Fill, err = align.ParseFill(fill); err != nil {
			return reading{}, badRequest{fmt.Errorf("parameter fill: %w", err)}
		}
	}
	s, err := h.span(ctx, q)
	if err == nil && slices.Contains(s.pvs, "time") {
		err = badRequest{errors.New("parameter align: a PV has the name time, as the first column; write ca://time")}
	}
	o.From, o.To = s.from, s.to
	return reading{s.format, func(ctx context.Context, b *body) error { return h.writeAligned(ctx, b, &s, o) }}, err
}

func (h *Handler) writeAligned(ctx context.Context, b *body, s *span, o align.Options) error {
	t, err := align.Open(ctx, h.Reader, s.pvs, o)
	if err != nil {
		if errors.Is(err, query.ErrUnknownPV) && len(t.Columns) < len(s.pvs) {
			err = fmt.Errorf("%w%s", err, h.similar(ctx, s.pvs[len(t.Columns)]))
		}
		return err
	}
	foreseen := t.CompleteUntil
	w, err := table.NewWriter(s.format, b, &table.Schema{Columns: alignedColumns(t), Notes: s.notes(b, foreseen,
		table.Note{Key: "align", Value: time.Duration(o.Step).String()}, table.Note{Key: "fill", Value: o.Fill.String()}), Origin: h.Origin})
	if err != nil {
		return err
	}
	for slab, err := range t.All(ctx) {
		if err == nil {
			err = appendSlab(w, slab)
		}
		if err != nil {
			return err
		}
	}
	if t.CompleteUntil < min(o.To, foreseen) { // an engine has ceased to answer
		b.SetCompleteUntil(t.CompleteUntil)
		w.Note("completeUntil", stream.Until(t.CompleteUntil))
	}
	return b.closeTable(w, t.Lost)
}

func alignedColumns(t *align.Table) []table.Column {
	columns := []table.Column{{Name: "time", Type: table.Time}}
	for i := range t.Columns {
		c := &t.Columns[i]
		column := table.Column{Name: c.PV, Type: table.Float, Nulls: true}
		switch c.Kind {
		case rollup.Choice:
			column.Type, column.Labels = table.Int, c.Labels
		case rollup.Text:
			column.Type = table.Text
		}
		if c.Known {
			column.Unit = c.Metadata.Units
		}
		columns = append(columns, column)
	}
	return columns
}

// appendSlab appends the rows of a slab.
func appendSlab(w *table.Writer, s *align.Slab) error {
	for i, at := range s.Times {
		w.Batch.Columns[0].AppendInt(at)
		for c := range s.Columns {
			appendCell(&w.Batch.Columns[c+1], &s.Columns[c], i)
		}
		if err := w.FlushFull(); err != nil {
			return err
		}
	}
	return nil
}

func appendCell(dst *table.Vector, v *align.Values, i int) {
	switch {
	case !v.Has[i]:
		dst.AppendNull()
	case v.Texts != nil:
		dst.AppendText([]byte(v.Texts[i]))
	case v.States:
		dst.AppendInt(int64(v.Numbers[i]))
	default:
		dst.AppendFloat(v.Numbers[i])
	}
}
