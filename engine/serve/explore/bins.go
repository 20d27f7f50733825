package explore

import (
	"context"
	"fmt"
	"math"
	"net/http"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/stream"
)

const (
	// defaultPoints and maxPoints are for the parameter points, and maxSamples for samples.
	defaultPoints = 1000
	maxPoints     = 4000
	maxSamples    = 10_000
	// binaryType is the content type of frames.
	binaryType = "application/vnd.varve.bins"
)

// binsQuery is a request for bins.
type binsQuery struct {
	span
	width   int64 // of a bin, in ns
	samples int   // a PV with at most so many samples is answered with these
	binary  bool
}

// bins answers the bins of PVs in a range, on a grid that all PVs share. A PV with few samples is
// answered with the samples, if the parameter samples allows that.
func (h *Handler) bins(w http.ResponseWriter, r *http.Request, p *openapi.Query) {
	s, leave := h.admit(w, r, p)
	if leave == nil {
		return
	}
	defer leave()
	q := &binsQuery{s, gridWidth(s.from, s.to, p.Int("points")), p.Int("samples"), p.Get("format") == "binary"}
	contentType := "application/json"
	if q.binary {
		contentType = binaryType
	}
	a := stream.New(w, contentType)
	w.Header().Set("Cache-Control", "no-store")
	h.finish(w, r, a, h.writeBins(r.Context(), a, q))
}

// writeBins writes the bins of all PVs.
func (h *Handler) writeBins(ctx context.Context, a *stream.Answer, q *binsQuery) error {
	if !q.binary {
		a.Buf = fmt.Appendf(a.Buf, `{"from":%q,"to":%q,"now":%q,"width":%g,"pvs":[`, clock(q.from), clock(q.to), clock(h.now().UnixNano()), float64(q.width)/1e9)
	}
	lost := uint64(0)
	for i, pv := range q.pvs {
		s, until, err := h.read(ctx, pv, q)
		if err != nil {
			return h.explain(ctx, pv, err)
		}
		if until < q.to {
			s.CompleteUntil = stream.Until(until)
			a.SetCompleteUntil(until)
		}
		lost += s.Lost
		if q.binary {
			a.Buf = s.appendFrame(a.Buf, h.now().UnixNano())
		} else {
			if i > 0 {
				a.Buf = append(a.Buf, ",\n"...)
			}
			a.Buf = s.appendJSON(a.Buf)
		}
		if err := a.FlushFull(); err != nil {
			return err
		}
	}
	if !q.binary {
		a.Buf = append(a.Buf, "]}\n"...)
	}
	a.SetLost(lost)
	return nil
}

// read reads a PV: its samples if they are few enough, or else bins. until is as in query.Samples.
func (h *Handler) read(ctx context.Context, pv string, q *binsQuery) (s *series, until int64, err error) {
	until = math.MaxInt64
	expired, err := h.reader.ExpiredUntil(ctx, pv)
	if err != nil {
		return nil, 0, err
	}
	if q.samples > 0 && q.from >= expired { // only bins summarize expired samples
		s, until, err = h.readSamples(ctx, pv, q)
	}
	if s == nil && err == nil {
		s, until, err = h.readBins(ctx, pv, q)
	}
	if err != nil {
		return nil, 0, err
	}
	meta, found, err := h.reader.Metadata(ctx, pv, q.to)
	if found {
		s.Metadata = newMetadata(&meta)
	}
	return s, until, err
}

// readSamples reads the samples of a PV in the range, and the last one before. It returns nil if
// they are too many.
func (h *Handler) readSamples(ctx context.Context, pv string, q *binsQuery) (*series, int64, error) {
	var lost query.Losses
	read, err := h.reader.Read(ctx, pv, q.from, q.to, query.Options{Lost: &lost})
	if err != nil {
		return nil, 0, err
	}
	s := &series{PV: pv, Mode: "samples", Kind: "other", width: q.width}
	for r, err := range read.All {
		if err != nil {
			return nil, 0, err
		}
		if len(s.times)+r.Len() > q.samples+1 { // the last one before the range does not count
			return nil, 0, nil
		}
		s.addRun(r)
	}
	s.Lost = lost.Count()
	return s, read.CompleteUntil, nil
}

// readBins reads bins of a PV.
func (h *Handler) readBins(ctx context.Context, pv string, q *binsQuery) (*series, int64, error) {
	var lost query.Losses
	bins, err := h.reader.Bins(ctx, pv, q.from, q.to, 1, query.BinOptions{First: true, Empty: true, Width: q.width, Lost: &lost})
	if err != nil {
		return nil, 0, err
	}
	s := &series{PV: pv, Mode: "bins", Kind: "other", width: q.width}
	for b, err := range bins.All {
		if err != nil {
			return nil, 0, err
		}
		s.addBin(b)
	}
	s.Lost = lost.Count()
	return s, bins.CompleteUntil, nil
}
