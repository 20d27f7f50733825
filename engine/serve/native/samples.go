package native

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/request"
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
//	{"pv":…, "metadata":{…},
//	 "runs":[{"type":"float64","samples":[{"time":…,"value":…,"severity":…,"status":…}, …]}, …],
//	 "marks":[…]}
//
// If the parameter points is present, samples answers about that many bins instead. All bins
// have one width, in seconds:
//
//	{"pv":…, "metadata":{…}, "width":…, "points":[…], "marks":[…]}
func (h *Handler) samples(w http.ResponseWriter, r *http.Request) {
	pv, from, to, err := h.span(r)
	var n int
	if err == nil {
		n, err = points(r.URL.Query())
	}
	if err != nil {
		answerError(w, http.StatusBadRequest, err)
		return
	}
	b := newBody(w)
	write, err := h.content(r.Context(), b, pv, from, to, n)
	if err != nil {
		h.fail(w, r, fmt.Errorf("reading %s: %w", pv, err))
		return
	}
	meta, found, err := h.Reader.Metadata(r.Context(), pv, to)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	b.begin(pv, &meta, found)
	if err = write(); err == nil {
		b.Buf = append(b.Buf, `],"marks":`...)
		err = b.marks(h.Reader.Marks(r.Context(), pv, from, to))
	}
	h.finish(w, r, b, err)
}

// content opens a PV. It returns a function that writes the samples. If n is not 0, the
// function writes about n points instead.
func (h *Handler) content(ctx context.Context, b *body, pv string, from, to int64, n int) (write func() error, err error) {
	if n == 0 {
		runs, err := h.Reader.Read(ctx, pv, from, to, query.Options{})
		return func() error {
			b.Buf = append(b.Buf, `,"runs":[`...)
			return b.runs(runs)
		}, err
	}
	bins, err := h.Reader.Bins(ctx, pv, from, to, n, query.BinOptions{First: true})
	return func() error {
		b.number("width", float64(bins.Width)/1e9)
		b.Buf = append(b.Buf, `,"points":[`...)
		return b.points(bins)
	}, err
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
	h.finish(w, r, b, b.marks(h.Reader.Marks(r.Context(), pv, from, to)))
}
