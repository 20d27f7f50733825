package appliance

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/url"
	"strings"

	"varve.dev/varve/engine/postprocess"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/stream"
)

// data answers getData: the samples of one or more PVs in the requested format. It checks the
// whole request before the answer begins, and opens a PV when the PV before it is written.
func (h *Handler) data(w http.ResponseWriter, r *http.Request) {
	q, code, err := h.dataQuery(w, r)
	if err != nil {
		http.Error(w, err.Error(), code)
		return
	}
	leave, err := h.Reads.EnterHolding(r.Context(), q.holds())
	if err == nil {
		defer leave()
		err = h.check(r.Context(), &q)
	}
	if err != nil {
		h.failData(w, r, err)
		return
	}
	enc := formats[q.ext].encoder(&q)
	out := answer{Answer: stream.New(w, enc.contentType()), enc: enc}
	err = out.write(len(q.targets), func(i int) (*series, error) { return h.open(r.Context(), &q.targets[i], &q) })
	out.Finish(r, h.Log, err, func(err error) { h.failData(w, r, err) })
}

// dataQuery parses a request for data. A request for many PVs may have their names in its body.
func (h *Handler) dataQuery(w http.ResponseWriter, r *http.Request) (a dataQuery, code int, err error) {
	file := r.PathValue("file")
	if r.Method == http.MethodPost && !strings.HasPrefix(file, "getDataForPVs.") {
		w.Header().Set("Allow", "GET, HEAD")
		return a, http.StatusMethodNotAllowed, fmt.Errorf("%s takes GET; a POST may go to getDataForPVs and getDataAtTime", file)
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return a, http.StatusBadRequest, fmt.Errorf("the parameters in the URL cannot be read: %w", err)
	}
	if err := addBody(r, q); err != nil {
		return a, request.BadCode(w.Header(), err), err
	}
	return parseQuery(file, q, h.Now())
}

// failData answers a request for data that failed before its first byte.
func (h *Handler) failData(w http.ResponseWriter, r *http.Request, err error) {
	var bad badQuery
	var many query.TooManyMarksError
	switch {
	case errors.As(err, &many):
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	case errors.As(err, &bad), errors.Is(err, postprocess.ErrBound):
		badRequest(w, err)
	case errors.Is(err, query.ErrUnknownPV):
		http.Error(w, err.Error(), http.StatusNotFound)
	default:
		h.fail(w, r, err)
	}
}

// check returns an error if a PV is unknown, or if its post-processor cannot be applied. After
// the first byte of the answer the client would get no reason. A single PV is opened before the
// first byte, so it needs no check.
func (h *Handler) check(ctx context.Context, q *dataQuery) error {
	for i := range q.targets {
		t := &q.targets[i]
		if err := h.resolve(ctx, t, q.pp); err != nil {
			return err
		}
		if len(q.targets) == 1 {
			return nil
		}
		known, err := h.Reader.Known(ctx, t.pv)
		if err == nil && !known {
			err = query.ErrUnknownPV
		}
		if err == nil && t.op != nil {
			err = h.checkType(ctx, t, q)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", t.pv, err)
		}
	}
	return nil
}

// checkType returns an error if the post-processor of a target cannot be applied to the type of
// the PV, or to the range.
func (h *Handler) checkType(ctx context.Context, t *target, q *dataQuery) error {
	typ, err := h.Reader.Type(ctx, t.pv)
	if err != nil {
		return err
	}
	if !typ.Valid() {
		m, err := h.latest(ctx, t.pv)
		if err != nil {
			return err
		}
		if m != nil {
			typ = m.Type
		}
	}
	return t.accepts(typ, q)
}

// series holds the samples of one PV and the headers in front of them.
type series struct {
	name    string // as the request has it
	from    int64  // start of the range, ns since 1970
	lags    bool   // samples are missing, though only after the time until
	until   int64
	typ     sample.Type
	count   int // number of elements, 0 if unknown
	headers []header
	changes pending
	mixed   bool  // as postprocess.Func.Mixed
	width   int64 // of the bins that replace the samples (usereduced), in ns; 0 if there are none
	extra   fieldValues
	runs    iter.Seq2[*sample.Run, error]
	lost    query.Losses
}

// open opens one PV and applies its post-processor.
func (h *Handler) open(ctx context.Context, t *target, q *dataQuery) (*series, error) {
	s := &series{name: t.pv, from: q.from, until: math.MaxInt64}
	m, err := h.latest(ctx, t.pv)
	if err != nil {
		return nil, err
	}
	if s.typ, err = h.Reader.Type(ctx, t.pv); err != nil {
		return nil, err
	}
	s.describe(m, q.metadata)
	if t.op != nil {
		if err := t.accepts(s.typ, q); err != nil {
			return nil, fmt.Errorf("reading %s: %w", t.pv, err)
		}
	}
	var parts []iter.Seq2[*sample.Run, error]
	for _, r := range q.ranges {
		runs, err := h.readRange(ctx, s, t, r, q.reduced)
		if err != nil {
			return nil, err
		}
		parts = append(parts, runs)
	}
	s.runs = joined(parts)
	if t.op != nil {
		s.reduceTo(t.op)
		s.mixed = t.op.Mixed()
	}
	if formats[q.ext].changes {
		if s.changes, err = h.changes(ctx, t.pv, q.from, q.to, q.starts(t.op, s.width)); err != nil {
			return nil, err
		}
	}
	s.describeLag()
	return s, nil
}

// readRange reads a time range of a PV and applies its post-processor.
func (h *Handler) readRange(ctx context.Context, s *series, t *target, r timeRange, reduced bool) (iter.Seq2[*sample.Run, error], error) {
	if reduced && t.op == nil {
		if out, err := h.readReduced(ctx, s, t.pv, r); err != nil || out.runs != nil {
			s.lag(out.until, r)
			return out.runs, err
		}
	}
	read, err := h.Reader.Read(ctx, t.pv, r.from, r.to, query.Options{Inside: t.op != nil && t.op.Inside(), Lost: &s.lost})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", t.pv, err)
	}
	runs, until := read.All, read.CompleteUntil
	if t.op != nil {
		if runs, err = h.applyToSamples(ctx, t, r, runs); err != nil {
			return nil, fmt.Errorf("reading %s: %w", t.pv, err)
		}
		stored, err := h.apply(ctx, t.pv, t.op, r, &s.lost)
		if err != nil {
			return nil, err
		}
		if stored.runs != nil {
			runs, until = stored.runs, stored.until
		}
	}
	s.lag(until, r)
	return runs, nil
}

// applyToSamples applies the post-processor of a target to the samples of a range.
func (h *Handler) applyToSamples(ctx context.Context, t *target, r timeRange, runs iter.Seq2[*sample.Run, error]) (iter.Seq2[*sample.Run, error], error) {
	op := t.op
	if op.Breaks() {
		times, err := h.breaks(ctx, t.pv, r.from, r.to)
		if err != nil {
			return nil, err
		}
		op = op.Breaking(times)
	}
	return op.Apply(runs, r.from, r.to), nil
}

// lag notes that samples of a range are complete only up to a time.
func (s *series) lag(until int64, r timeRange) {
	if until < r.to {
		s.lags, s.until = true, min(s.until, until)
	}
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

// bounded is an encoder that holds a bounded number of samples.
type bounded interface {
	// failed returns the error if there are more.
	failed() error
}

// answer encodes runs while they are sent to the client. It holds only the runs that are being
// encoded.
type answer struct {
	*stream.Answer
	enc  encoder
	lost uint64 // number of samples that the answer leaves out
}

// write writes n PVs. It opens each one only when the one before is written, so that it holds the
// samples of one PV at a time.
func (o *answer) write(n int, open func(i int) (*series, error)) error {
	o.Buf = o.enc.begin(o.Buf)
	for i := range n {
		s, err := open(i)
		if err != nil {
			return err
		}
		if err := o.series(s); err != nil {
			return err
		}
	}
	o.Buf = o.enc.end(o.Buf)
	return nil
}

func (o *answer) series(s *series) error {
	if s.lags {
		o.SetCompleteUntil(s.until)
	}
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
		if b, is := o.enc.(bounded); is && b.failed() != nil {
			return b.failed()
		}
		if err := o.FlushFull(); err != nil {
			return err
		}
	}
	if !opened {
		o.Buf = o.enc.open(o.Buf, s, nil)
	}
	o.lost += s.lost.Count()
	o.SetLost(o.lost)
	return nil
}
