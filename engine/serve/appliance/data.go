package appliance

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"varve.dev/varve/engine/postprocess"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/stream"
)

// data answers getData: the samples of one or more PVs in the requested format. It checks the
// whole request before the answer begins.
func (h *Handler) data(w http.ResponseWriter, r *http.Request) {
	q, code, err := parseQuery(r.PathValue("file"), r.URL.Query(), h.Now())
	if err != nil {
		http.Error(w, err.Error(), code)
		return
	}
	found, err := h.openAll(r.Context(), &q)
	var bad badQuery
	switch {
	case errors.As(err, &bad):
		badRequest(w, err)
		return
	case errors.Is(err, query.ErrUnknownPV):
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	case err != nil:
		h.fail(w, r, err)
		return
	}
	enc := encoders[q.ext]()
	out := answer{stream.New(w, enc.contentType()), enc}
	out.Finish(r, h.Log, out.write(found), func(err error) {
		if errors.Is(err, postprocess.ErrBound) {
			badRequest(w, err)
			return
		}
		h.fail(w, r, err)
	})
}

// series holds the samples of one PV and the headers in front of them.
type series struct {
	name    string // as the request has it
	from    int64  // start of the range, ns since 1970
	typ     sample.Type
	count   int // number of elements, 0 if unknown
	headers []header
	changes pending
	extra   fieldValues
	runs    iter.Seq2[*sample.Run, error]
}

// openAll opens all PVs of a query. Their samples are read later, one PV after another.
func (h *Handler) openAll(ctx context.Context, q *dataQuery) ([]*series, error) {
	var found []*series
	for i := range q.targets {
		t := &q.targets[i]
		if err := h.resolve(ctx, t, q.pp); err != nil {
			return nil, err
		}
		s, err := h.open(ctx, t, q)
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	return found, nil
}

// open opens one PV and applies its post-processor.
func (h *Handler) open(ctx context.Context, t *target, q *dataQuery) (*series, error) {
	s := &series{name: t.pv, from: q.from}
	opts := query.Options{Inside: t.op != nil && t.op.Inside()}
	var err error
	if s.runs, err = h.Reader.Read(ctx, t.pv, q.from, q.to, opts); err != nil {
		return nil, fmt.Errorf("reading %s: %w", t.pv, err)
	}
	m, err := h.latest(ctx, t.pv)
	if err != nil {
		return nil, err
	}
	if s.typ, err = h.Reader.Type(ctx, t.pv); err != nil {
		return nil, err
	}
	s.describe(m, q.metadata)
	if s.changes, err = h.changes(ctx, t.pv, q.from, q.to); err != nil {
		return nil, err
	}
	if t.op == nil {
		return s, nil
	}
	if err := s.apply(t.op, q.from, q.to); err != nil {
		return nil, err
	}
	return s, h.applyToBins(ctx, s, t.pv, t.op, q.from, q.to)
}

// encoder writes one format. Each method appends to dst and returns it. A run is valid
// until the call returns.
type encoder interface {
	contentType() string
	// begin appends the beginning of the answer, and end appends its end.
	begin(dst []byte) []byte
	end(dst []byte) []byte
	// open appends the beginning of a PV. The argument first is the PV's first run, or nil if
	// the PV has none.
	open(dst []byte, s *series, first *sample.Run) []byte
	samples(dst []byte, r *sample.Run) []byte
}

// answer encodes runs while they are sent to the client. It holds only the runs that are being
// encoded.
type answer struct {
	*stream.Answer
	enc encoder
}

func (o *answer) write(found []*series) error {
	o.Buf = o.enc.begin(o.Buf)
	for _, s := range found {
		if err := o.series(s); err != nil {
			return err
		}
	}
	o.Buf = o.enc.end(o.Buf)
	return nil
}

func (o *answer) series(s *series) error {
	opened := false
	for r, err := range s.runs {
		if err != nil {
			return err
		}
		if !opened {
			o.Buf = o.enc.open(o.Buf, s, r)
			opened = true
		}
		o.Buf = o.enc.samples(o.Buf, r)
		if err := o.FlushFull(); err != nil {
			return err
		}
	}
	if !opened {
		o.Buf = o.enc.open(o.Buf, s, nil)
	}
	return nil
}
