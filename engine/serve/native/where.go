package native

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"varve.dev/varve/engine/predicate"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/value"
)

// maxFiltered is the maximum number of PVs in a request with the parameter where: each one is a
// search of its own.
const maxFiltered = 100

var whereParameters = request.Known{Once: []string{"from", "to", "where", "format", "group"}, Repeated: []string{"pv"}}

// filtered answers the samples of PVs in a range while a predicate is true. For a PV:
//
//	{"pv":…, "metadata":{…}, "completeUntil":…, "where":…,
//	 "runs":[{"type":…,"samples":[…]},…],
//	 "seconds":{"true":…,"false":…,"unknown":…}}
//
// and for several PVs {"pvs":[…]}. The sample before the range is not in the answer.
func (h *Handler) filtered(w http.ResponseWriter, r *http.Request) {
	f, err := h.newFiltered(r)
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
	err = f.check(r.Context())
	if len(f.pvs) > 1 {
		b.Buf = append(b.Buf, `{"pvs":[`...)
	}
	lost := uint64(0)
	for i, pv := range f.pvs {
		if err != nil {
			break
		}
		if i > 0 {
			b.Buf = append(b.Buf, "},\n"...)
		}
		var n uint64
		n, err = f.write(r.Context(), b, pv, f.until[i])
		lost += n
	}
	if len(f.pvs) > 1 {
		b.Buf = append(b.Buf, "}]"...)
	}
	b.SetLost(lost)
	b.Buf = append(b.Buf, "}\n"...)
	b.Finish(r, h.Log, err, func(err error) { h.failRead(w, r, err) })
}

// filtered is a request with the parameter where.
type filtered struct {
	h        *Handler
	p        *predicate.Predicate
	text     string
	pvs      []string
	until    []int64 // until which time the samples of each PV are complete
	from, to int64
}

func (h *Handler) newFiltered(r *http.Request) (*filtered, error) {
	q, err := whereParameters.Parse(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest{err}
	}
	if format := q.Get("format"); format != "" && format != "json" {
		return nil, badRequest{errors.New("parameter format: samples with the parameter where have the format json")}
	}
	f := &filtered{h: h, text: q.Get("where")}
	if f.p, err = parseWhere(f.text); err != nil {
		return nil, err
	}
	if f.from, f.to, err = h.rangeOf(q); err != nil {
		return nil, err
	}
	if f.pvs, err = h.selected(r.Context(), q); err == nil && len(f.pvs) > maxFiltered {
		err = badRequest{fmt.Errorf("parameter where: the request names %d PVs, and may name %d", len(f.pvs), maxFiltered)}
	}
	return f, err
}

// check checks that all PVs are known, before the first byte of the answer.
func (f *filtered) check(ctx context.Context) error {
	return query.InOrder(ctx, f.pvs, func(ctx context.Context, pv string) (query.Last, error) {
		last, err := f.h.Reader.LastAt(ctx, pv, f.to)
		if errors.Is(err, query.ErrUnknownPV) {
			err = fmt.Errorf("reading %s: %w%s", pv, err, f.h.similar(ctx, pv))
		}
		return last, err
	}, func(_ string, last query.Last) error {
		f.until = append(f.until, last.CompleteUntil)
		return nil
	})
}

// write writes a PV, except for the closing brace. It returns the number of samples that are lost.
func (f *filtered) write(ctx context.Context, b *body, pv string, until int64) (lost uint64, err error) {
	s, err := f.h.bind(ctx, f.p, f.text, f.from, f.to)
	if err != nil {
		return 0, err
	}
	meta, found, err := f.h.Reader.Metadata(ctx, pv, f.to)
	if err != nil {
		return 0, fmt.Errorf("reading the metadata of %s: %w", pv, err)
	}
	b.begin(pv, &meta, found)
	if until = min(until, s.CompleteUntil()); until < f.to {
		b.completeUntil(until)
	}
	b.Buf = value.AppendString(append(b.Buf, `,"where":`...), f.text)
	b.Buf = append(b.Buf, `,"runs":[`...)
	var d predicate.Durations
	var left query.Losses
	if err := b.runs(s.Samples(ctx, pv, &left, &d)); err != nil {
		return 0, fmt.Errorf("reading %s: %w", pv, err)
	}
	b.Buf = append(b.Buf, ']')
	b.seconds(&d)
	return left.Count() + s.Lost(), nil
}

var intervalsParameters = request.Known{Once: []string{"from", "to", "where"}}

// intervals answers the times in a range at which a predicate is true, and those at which its result
// is unknown:
//
//	{"where":…, "completeUntil":…,
//	 "intervals":[{"from":…,"to":…,"state":"true"},{"from":…,"to":…,"state":"unknown"},…],
//	 "seconds":{"true":…,"false":…,"unknown":…}}
//
// from is the first instant, and to the first instant after the interval, or the end of the range.
func (h *Handler) intervals(w http.ResponseWriter, r *http.Request) {
	q, err := intervalsParameters.Parse(r.URL.RawQuery)
	if err != nil {
		h.failRead(w, r, badRequest{err})
		return
	}
	text := q.Get("where")
	p, err := parseWhere(text)
	var from, to int64
	if err == nil {
		from, to, err = h.rangeOf(q)
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
	s, err := h.bind(r.Context(), p, text, from, to)
	if err != nil {
		h.failRead(w, r, err)
		return
	}
	b := newBody(w)
	b.Buf = value.AppendString(append(b.Buf, `{"where":`...), text)
	if until := s.CompleteUntil(); until < to {
		b.completeUntil(until)
	}
	b.Buf = append(b.Buf, `,"intervals":[`...)
	var d predicate.Durations
	if err = b.intervals(s.Intervals(r.Context()), to, &d); err == nil {
		b.Buf = append(b.Buf, ']')
		b.seconds(&d)
	}
	b.SetLost(s.Lost())
	b.Buf = append(b.Buf, "}\n"...)
	b.Finish(r, h.Log, err, func(err error) { h.failRead(w, r, err) })
}

// intervals writes intervals, except those at which the predicate is false.
func (b *body) intervals(all iter.Seq2[predicate.Interval, error], to int64, d *predicate.Durations) error {
	first := true
	for i, err := range all {
		if err != nil {
			return err
		}
		d.Add(i)
		if i.State == predicate.False {
			continue
		}
		if !first {
			b.Buf = append(b.Buf, ',')
		}
		first = false
		b.Buf = fmt.Appendf(b.Buf, "\n{\"from\":\"%s\",\"to\":\"%s\",\"state\":\"%s\"}", clock(i.From), clock(min(i.To, to)), i.State)
		if err := b.FlushFull(); err != nil {
			return err
		}
	}
	return nil
}
