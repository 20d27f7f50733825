package native

import (
	"context"
	"fmt"
	"iter"

	"varve.dev/varve/engine/predicate"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/table"
	"varve.dev/varve/engine/serve/value"
)

// intervals answers the times in a range at which a predicate is true, and those at which its result
// is unknown:
//
//	{"where":…, "completeUntil":…,
//	 "intervals":[{"from":…,"to":…,"state":"true"},{"from":…,"to":…,"state":"unknown"},…],
//	 "seconds":{"true":…,"false":…,"unknown":…}}
//
// from is the first instant, and to the first instant after the interval, or the end of the range. The
// other formats have a table with the columns from, to and state.
func (h *Handler) intervals(_ context.Context, q *openapi.Query) (reading, error) {
	c, err := parseWhere(q)
	if err != nil {
		return reading{}, err
	}
	s := span{format: table.Format(q.Get("format"))}
	if s.from, s.to, err = rangeOf(q); err != nil {
		return reading{}, err
	}
	return reading{s.format, func(ctx context.Context, b *body) error {
		search, err := h.search(ctx, c, s.from, s.to)
		if err != nil {
			return err
		}
		if s.format == table.JSON {
			return b.intervals(ctx, search, &s, c.text)
		}
		return h.intervalsTable(ctx, b, search, &s, c.text)
	}}, nil
}

// intervals writes the intervals of a search in JSON.
func (b *body) intervals(ctx context.Context, search *predicate.Search, s *span, where string) error {
	b.Buf = value.AppendString(append(b.Buf, `{"where":`...), where)
	if until := search.CompleteUntil(); until < s.to {
		b.completeUntil(until)
	}
	b.Buf = append(b.Buf, `,"intervals":[`...)
	var d predicate.Durations
	if err := b.intervalList(notFalse(search.Intervals(ctx), s.to, &d)); err != nil {
		return err
	}
	b.Buf = append(b.Buf, ']')
	b.seconds(&d)
	b.SetLost(search.Lost())
	b.Buf = append(b.Buf, "}\n"...)
	return nil
}

func (b *body) intervalList(all iter.Seq2[predicate.Interval, error]) error {
	separator := ""
	for i, err := range all {
		if err != nil {
			return err
		}
		b.Buf = fmt.Appendf(b.Buf, "%s\n{\"from\":\"%s\",\"to\":\"%s\",\"state\":\"%s\"}", separator, clock(i.From), clock(i.To), i.State)
		separator = ","
		if err := b.FlushFull(); err != nil {
			return err
		}
	}
	return nil
}

// intervalsTable writes the intervals of a search as a table.
func (h *Handler) intervalsTable(ctx context.Context, b *body, search *predicate.Search, s *span, where string) error {
	w, err := table.NewWriter(s.format, b, &table.Schema{
		Columns: []table.Column{{Name: "from", Type: table.Time}, {Name: "to", Type: table.Time}, {Name: "state", Type: table.Word}},
		Notes:   s.notes(b, search.CompleteUntil(), table.Note{Key: "where", Value: where}), Origin: h.Origin,
	})
	if err != nil {
		return err
	}
	var d predicate.Durations
	for i, err := range notFalse(search.Intervals(ctx), s.to, &d) {
		if err != nil {
			return err
		}
		c := w.Batch.Columns
		c[0].AppendInt(i.From)
		c[1].AppendInt(i.To)
		c[2].AppendWord(i.State.String(), 1)
		if err := w.FlushFull(); err != nil {
			return err
		}
	}
	return b.closeTable(w, search.Lost())
}
