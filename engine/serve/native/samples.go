package native

import (
	"context"
	"fmt"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/table"
	"varve.dev/varve/engine/serve/value"
	"varve.dev/varve/engine/store"
)

// mark is the JSON form of a mark. A mark of kind lost without a count means that an
// unknown number of samples may be missing.
type mark struct {
	Time   string `json:"time"`
	End    string `json:"end,omitempty"`
	Kind   string `json:"kind"`
	Reason string `json:"reason,omitempty"`
	Count  uint64 `json:"count,omitempty"`
	Text   string `json:"text,omitempty"`
}

func newMark(m *store.PVMark) mark {
	out := mark{Time: clock(m.Time), Kind: m.Kind.String(), Text: m.Text}
	if m.End != 0 {
		out.End = clock(m.End)
	}
	if m.Kind == sample.Lost {
		out.Reason, out.Count = m.Reason.String(), m.Count
	}
	return out
}

// samples serves the samples and the marks of PVs in a range. The answer for one PV begins with the
// last sample before the range:
//
//	{"pv":…, "metadata":{…}, "completeUntil":…,
//	 "runs":[{"type":"float64","samples":[{"time":…,"value":…,"severity":…,"status":…}, …]}, …],
//	 "marks":[…],
//	 "noData":{"cause":…,"since":…,"text":…}}
//
// The answer has completeUntil only if it lacks samples that were received after that time. It leaves
// out samples in damaged blocks, and lists them in the field marks. Such a mark may be earlier than the
// range, because the last sample before the range may be in a damaged block.
//
// noData is present only if the PV has no data at the end of the range.
//
// If the parameter points is present, the answer has about that many bins instead of samples. All
// bins have the same width, in seconds:
//
//	{"pv":…, "metadata":{…}, "width":…, "points":[…], "marks":[…]}
//
// The answer for several PVs is {"pvs":[…]}, with one such object for each PV. With the parameter align,
// fill or where, or in another format than JSON, the answer has another form: see aligned, filtered and
// writeLong.
func (h *Handler) samples(ctx context.Context, q *openapi.Query) (reading, error) {
	switch {
	case q.Has("align"), q.Has("fill"):
		return h.aligned(ctx, q)
	case q.Has("where"):
		return h.filtered(ctx, q)
	}
	n := q.Int("points")
	s, err := h.span(ctx, q)
	switch {
	case err != nil:
		return reading{}, err
	case s.format == table.JSON:
		return reading{s.format, func(ctx context.Context, b *body) error { return h.writeSamples(ctx, b, &s, n) }}, nil
	case n > 0:
		return reading{}, badRequest{fmt.Errorf(
			"parameter points: an answer in the format %s has samples; for bins, use format=json or align=1m&fill=mean",
			s.format)}
	}
	return reading{s.format, func(ctx context.Context, b *body) error { return h.writeLong(ctx, b, &s) }}, nil
}

// writeSamples writes the samples of PVs, or about n points, in JSON.
func (h *Handler) writeSamples(ctx context.Context, b *body, s *span, n int) error {
	if len(s.pvs) > 1 {
		if _, err := h.foresee(ctx, s.pvs, s.from, s.to); err != nil {
			return err
		}
	}
	lost := uint64(0)
	err := b.each(s.pvs, len(s.pvs) > 1, func(_ int, pv string) error {
		b.some, b.last, b.lost = false, 0, query.Losses{}
		err := h.onePV(ctx, b, pv, s.from, s.to, n)
		lost += b.lost.Count()
		return err
	})
	b.SetLost(lost)
	return err
}

// onePV writes the samples, or about n points, and the marks of a PV, except for the closing brace.
func (h *Handler) onePV(ctx context.Context, b *body, pv string, from, to int64, n int) error {
	c, err := h.content(ctx, b, pv, from, to, n)
	if err != nil {
		return err
	}
	meta, found, err := h.Reader.Metadata(ctx, pv, to)
	if err != nil {
		return err
	}
	b.begin(pv, &meta, found)
	if c.completeUntil < to {
		b.completeUntil(c.completeUntil)
	}
	if err := c.write(); err != nil {
		return err
	}
	b.Buf = append(b.Buf, `],"marks":`...)
	return h.writeMarks(ctx, b, pv, from, to, n == 0 && !b.some)
}

// writeMarks writes the marks of a PV in a range, and the marks of samples that the answer leaves out.
// If the PV has no data at the end of the range, it also writes the reason. empty means that the range
// has no samples.
func (h *Handler) writeMarks(ctx context.Context, b *body, pv string, from, to int64, empty bool) error {
	if err := b.marks(b.lost.Merge(pv, h.Reader.Marks(ctx, pv, from, to))); err != nil {
		return err
	}
	d, err := h.noData(ctx, pv, to, empty, b.last)
	b.noData(d)
	return err
}

// content is the samples or the points of a PV.
type content struct {
	completeUntil int64
	write         func() error
}

// content begins to read a PV. The content is samples if n is 0, and about n points otherwise.
func (h *Handler) content(ctx context.Context, b *body, pv string, from, to int64, n int) (content, error) {
	if n == 0 {
		s, err := h.Reader.Read(ctx, pv, from, to, query.Options{Lost: &b.lost})
		if err != nil {
			return content{}, err
		}
		return content{s.CompleteUntil, func() error {
			b.Buf = append(b.Buf, `,"runs":[`...)
			return b.runs(s.All)
		}}, nil
	}
	bins, err := h.Reader.Bins(ctx, pv, from, to, n, query.BinOptions{First: true, Lost: &b.lost})
	if err != nil {
		return content{}, err
	}
	return content{bins.CompleteUntil, func() error {
		b.number("width", float64(bins.Width)/1e9)
		b.Buf = append(b.Buf, `,"points":[`...)
		return b.points(bins)
	}}, nil
}

// marks serves the marks of a PV in a range.
func (h *Handler) marks(_ context.Context, q *openapi.Query) (reading, error) {
	pv := q.Get("pv")
	from, to, err := rangeOf(q)
	return reading{table.JSON, func(ctx context.Context, b *body) error {
		if err := h.checkKnown(ctx, []string{pv}); err != nil {
			return err
		}
		return b.each([]string{pv}, false, func(int, string) error {
			b.Buf = append(value.AppendString(append(b.Buf, `{"pv":`...), pv), `,"marks":`...)
			return h.writeMarks(ctx, b, pv, from, to, false)
		})
	}}, err
}
