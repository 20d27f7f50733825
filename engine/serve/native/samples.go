package native

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/request"
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

// span parses the parameters pv, from and to.
func (h *Handler) span(r *http.Request) (pv string, from, to int64, err error) {
	q := r.URL.Query()
	if pv = q.Get("pv"); pv == "" {
		return "", 0, 0, errors.New("parameter pv: the name of a PV is required")
	}
	from, to, err = request.Range(q, h.Now())
	return pv, from, to, err
}

// samples answers the samples and marks of a PV in a range. The answer begins with the last
// sample before the range:
//
//	{"pv":…, "metadata":{…}, "completeUntil":…,
//	 "runs":[{"type":"float64","samples":[{"time":…,"value":…,"severity":…,"status":…}, …]}, …],
//	 "marks":[…],
//	 "noData":{"cause":…,"since":…,"text":…}}
//
// The answer has completeUntil only if it lacks samples that were received after that time. Samples
// in damaged blocks are left out, and marks has them even if they are earlier than the range: the
// last sample before the range may be one of them.
//
// noData is present only if the PV has no data at the end of the range.
//
// If the parameter points is present, samples answers about that many bins instead. All bins
// have one width, in seconds:
//
//	{"pv":…, "metadata":{…}, "width":…, "points":[…], "marks":[…]}
//
// The answer for several PVs is {"pvs":[…]}, with the same for each PV. The parameters align, where and
// format have other answers: see aligned, filtered and long.
func (h *Handler) samples(w http.ResponseWriter, r *http.Request) {
	switch given := r.URL.Query(); {
	case given.Has("align"), given.Has("fill"):
		h.aligned(w, r)
		return
	case given.Has("where"):
		h.filtered(w, r)
		return
	}
	q, format, err := samplesQuery(r.URL.RawQuery)
	if err != nil {
		h.failRead(w, r, badRequest{err})
		return
	}
	if format != table.JSON {
		h.long(w, r, q, format)
		return
	}
	h.inJSON(w, r, q)
}

var samplesParameters = request.Known{Once: []string{"from", "to", "points", "format", "group"}, Repeated: []string{"pv"}}

func samplesQuery(raw string) (url.Values, table.Format, error) {
	q, err := samplesParameters.Parse(raw)
	if err != nil {
		return nil, "", err
	}
	format, err := table.ParseFormat(q.Get("format"))
	return q, format, err
}

// inJSON answers samples or points in JSON.
func (h *Handler) inJSON(w http.ResponseWriter, r *http.Request, q url.Values) {
	n, err := points(q)
	if err != nil {
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
	b := newBody(w)
	if len(pvs) > 1 {
		_, _, err = h.foresee(r.Context(), pvs, to)
		b.Buf = append(b.Buf, `{"pvs":[`...)
	}
	lost, separator := uint64(0), ""
	for _, pv := range pvs {
		if err != nil {
			break
		}
		b.Buf = append(b.Buf, separator...)
		separator = "},\n"
		if err = h.onePV(r.Context(), b, pv, from, to, n); err != nil {
			err = fmt.Errorf("reading %s: %w", pv, err)
		}
		lost += b.lost.Count()
		b.some, b.last, b.lost = false, 0, query.Losses{}
	}
	if len(pvs) > 1 {
		b.Buf = append(b.Buf, "}]"...)
	}
	b.SetLost(lost)
	h.finish(w, r, b, err)
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

// writeMarks writes the marks of a PV in a range, those of samples that the answer leaves out, and
// why the PV has no data at its end. empty means that the range has no samples.
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

// content opens a PV. If n is not 0, the content is about n points.
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

// marks answers the marks of a PV in a range.
func (h *Handler) marks(w http.ResponseWriter, r *http.Request) {
	pv, from, to, err := h.span(r)
	if err != nil {
		answerError(w, http.StatusBadRequest, err)
		return
	}
	known, err := h.Reader.Known(r.Context(), pv)
	if err == nil && !known {
		err = fmt.Errorf("reading %s: %w", pv, query.ErrUnknownPV)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	b := newBody(w)
	b.Buf = append(value.AppendString(append(b.Buf, `{"pv":`...), pv), `,"marks":`...)
	h.finish(w, r, b, h.writeMarks(r.Context(), b, pv, from, to, false))
}
