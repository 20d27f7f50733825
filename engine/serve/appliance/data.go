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
)

// flushBytes is how much is gathered before it is sent.
const flushBytes = 64 << 10

// data answers getData: the samples of one or several PVs in some format. All
// that can be wrong with the request is found before the answer begins.
func (h *Handler) data(w http.ResponseWriter, r *http.Request) {
	a, code, err := parseAsk(r.PathValue("file"), r.URL.Query(), h.Now())
	if err != nil {
		http.Error(w, err.Error(), code)
		return
	}
	found, err := h.find(r.Context(), &a)
	var bad badAsk
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
	out := answer{w: w, enc: encoders[a.ext]()}
	if err := out.write(found); err != nil {
		h.interrupt(w, r, &out, err)
	}
}

// interrupt ends an answer that can not be completed: with an error while nothing
// is sent, or else by breaking the connection, so that the client does not take
// it for complete.
func (h *Handler) interrupt(w http.ResponseWriter, r *http.Request, out *answer, err error) {
	if !out.sent {
		if errors.Is(err, postprocess.ErrBound) {
			badRequest(w, err)
			return
		}
		h.fail(w, r, err)
		return
	}
	if r.Context().Err() == nil && !errors.Is(err, errSending) {
		h.Log.Error("an answer was cut short", "path", r.URL.Path, "err", err)
	}
	panic(http.ErrAbortHandler)
}

// series is the samples of one PV, and what precedes them.
type series struct {
	name    string // as asked for
	from    int64  // start of the range, ns since 1970
	typ     sample.Type
	count   int // elements, 0 if not known
	headers []header
	changes news
	beside  beside
	runs    iter.Seq2[*sample.Run, error]
}

// find opens all PVs that are asked for. Their samples are read later, in turn.
func (h *Handler) find(ctx context.Context, a *ask) ([]*series, error) {
	var found []*series
	for i := range a.targets {
		t := &a.targets[i]
		if err := h.settle(ctx, t, a.pp); err != nil {
			return nil, err
		}
		s, err := h.open(ctx, t, a)
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	return found, nil
}

// open opens one PV, and applies its operator.
func (h *Handler) open(ctx context.Context, t *target, a *ask) (*series, error) {
	s := &series{name: t.pv, from: a.from}
	opts := query.Options{Inside: t.op != nil && t.op.Inside()}
	var err error
	if s.runs, err = h.Reader.Read(ctx, t.pv, a.from, a.to, opts); err != nil {
		return nil, fmt.Errorf("reading %s: %w", t.pv, err)
	}
	m, err := h.latest(ctx, t.pv)
	if err != nil {
		return nil, err
	}
	if s.typ, err = h.Reader.Type(ctx, t.pv); err != nil {
		return nil, err
	}
	s.describe(m, a.metadata)
	if s.changes, err = h.changes(ctx, t.pv, a.from, a.to); err != nil {
		return nil, err
	}
	if t.op == nil {
		return s, nil
	}
	if err := s.apply(t.op, a.from, a.to); err != nil {
		return nil, err
	}
	return s, h.rolled(ctx, s, t.pv, t.op, a.from, a.to)
}

// encoder writes one format. Each method appends to dst and returns it. Runs are
// valid until the call returns.
type encoder interface {
	contentType() string
	// begin starts the answer, and end ends it.
	begin(dst []byte) []byte
	end(dst []byte) []byte
	// open starts a PV. It is called with its first run, or with nil if there is
	// none.
	open(dst []byte, s *series, first *sample.Run) []byte
	samples(dst []byte, r *sample.Run) []byte
}

// errSending says that the client does not take the answer.
var errSending = errors.New("sending an answer")

// answer is the body on its way to the client. It holds no more than the runs
// that are being encoded.
type answer struct {
	w    http.ResponseWriter
	enc  encoder
	buf  []byte
	sent bool
}

func (o *answer) write(found []*series) error {
	o.buf = o.enc.begin(o.buf)
	for _, s := range found {
		if err := o.series(s); err != nil {
			return err
		}
	}
	o.buf = o.enc.end(o.buf)
	return o.flush()
}

func (o *answer) series(s *series) error {
	opened := false
	for r, err := range s.runs {
		if err != nil {
			return err
		}
		if !opened {
			o.buf = o.enc.open(o.buf, s, r)
			opened = true
		}
		o.buf = o.enc.samples(o.buf, r)
		if len(o.buf) < flushBytes {
			continue
		}
		if err := o.flush(); err != nil {
			return err
		}
	}
	if !opened {
		o.buf = o.enc.open(o.buf, s, nil)
	}
	return nil
}

func (o *answer) flush() error {
	if !o.sent {
		o.w.Header().Set("Content-Type", o.enc.contentType())
		o.sent = true
	}
	if _, err := o.w.Write(o.buf); err != nil {
		return fmt.Errorf("%w: %w", errSending, err)
	}
	o.buf = o.buf[:0]
	return nil
}
