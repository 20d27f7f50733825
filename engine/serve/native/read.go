package native

import (
	"context"
	"net/http"

	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/serve/table"
)

// reading is the answer to a request whose parameters are right. Nothing is read yet.
type reading struct {
	format table.Format
	// write reads samples and writes the answer. An error before the first byte is sent becomes the
	// answer; a later one aborts the connection.
	write func(ctx context.Context, b *body) error
}

// handler returns the handler of a call.
func (h *Handler) handler(c *call) func(http.ResponseWriter, *http.Request, *openapi.Query) {
	if c.read == nil {
		return func(w http.ResponseWriter, r *http.Request, q *openapi.Query) { c.serve(h, w, r, q) }
	}
	return func(w http.ResponseWriter, r *http.Request, q *openapi.Query) { h.read(w, r, c, q) }
}

// read serves a call that reads samples:
//
//	parameters ──c.read──▶ reading ──▶ a place for the read ──write──▶ answer
//	               └─ 400, 404            └─ 429                └─ 404, 413, 500
func (h *Handler) read(w http.ResponseWriter, r *http.Request, c *call, q *openapi.Query) {
	answer, err := c.read(h, r.Context(), q)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	leave, err := h.Reads.Enter(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	table.SetOrigin(w.Header(), h.Origin)
	b := newBody(w, answer.format)
	err = answer.write(r.Context(), b)
	b.Finish(r, h.Log, err, func(err error) { h.fail(w, r, err) })
}

// span are the parameters that select samples.
type span struct {
	pvs      []string
	from, to int64 // in ns since 1970
	format   table.Format
}

// span returns what the parameters pv or group, from, to and format select.
func (h *Handler) span(ctx context.Context, q *openapi.Query) (s span, err error) {
	s.format = table.Format(q.Get("format"))
	if s.from, s.to, err = rangeOf(q); err != nil {
		return s, err
	}
	s.pvs, err = h.selected(ctx, q)
	return s, err
}

// notes are the facts about a table of samples that are known before its first row. completeUntil is
// among them if samples that were received after that time are missing.
func (s *span) notes(b *body, until int64, more ...table.Note) []table.Note {
	notes := append(more, table.Note{Key: "from", Value: clock(s.from)}, table.Note{Key: "to", Value: clock(s.to)})
	if until < s.to {
		b.SetCompleteUntil(until)
		notes = append(notes, table.Note{Key: "completeUntil", Value: stream.Until(until)})
	}
	return notes
}
