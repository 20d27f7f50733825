package explore

import (
	"context"
	"encoding/json"
	"net/http"

	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/stream"
)

// span is a range of time of PVs, as most calls have it. The times are in ns since 1970.
type span struct {
	pvs      []string
	from, to int64
}

// newSpan returns the parameters pv, from and to.
func newSpan(q *openapi.Query) (s span, err error) {
	if s.pvs, err = names(q); err != nil {
		return s, err
	}
	if s.from, s.to, err = q.Range(); err != nil {
		err = badRequest{err}
	}
	return s, err
}

// admit returns the span of a request when the request may read samples. The caller must then call leave.
// If the request is wrong, or has to wait for too long, admit answers it, and leave is nil.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request, q *openapi.Query) (s span, leave func()) {
	s, err := newSpan(q)
	if err == nil {
		leave, err = h.reads.Enter(r.Context())
	}
	if err != nil {
		h.fail(w, r, err)
		return s, nil
	}
	return s, leave
}

// answerEach answers what of returns for each PV of a request, as JSON.
func (h *Handler) answerEach(w http.ResponseWriter, r *http.Request, q *openapi.Query, of func(ctx context.Context, pv string, s span) (any, error)) {
	s, leave := h.admit(w, r, q)
	if leave == nil {
		return
	}
	defer leave()
	a := stream.New(w, "application/json")
	w.Header().Set("Cache-Control", "no-store")
	h.finish(w, r, a, h.writeEach(r.Context(), a, s, of))
}

// writeEach writes the answer of answerEach.
func (h *Handler) writeEach(ctx context.Context, a *stream.Answer, s span, of func(ctx context.Context, pv string, s span) (any, error)) error {
	a.Buf = append(a.Buf, `{"from":"`+clock(s.from)+`","to":"`+clock(s.to)+`","pvs":[`...)
	for i, pv := range s.pvs {
		if i > 0 {
			a.Buf = append(a.Buf, ",\n"...)
		}
		answer, err := of(ctx, pv, s)
		if err != nil {
			return h.explain(ctx, pv, err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		a.Buf = append(a.Buf, text...)
		if err := a.FlushFull(); err != nil {
			return err
		}
	}
	a.Buf = append(a.Buf, "]}\n"...)
	return nil
}
