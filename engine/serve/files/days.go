package files

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/stream"
)

// Numbers of days in an answer.
const (
	defaultDays = 366
	maxDays     = 1000
)

// listing is the days of a PV that have samples. Next is the parameter from of a request for more
// days. CompleteUntil is present if samples that were received after that time may be missing.
type listing struct {
	PV            string `json:"pv"`
	Days          []item `json:"days"`
	Next          string `json:"next,omitempty"`
	CompleteUntil string `json:"completeUntil,omitempty"`
}

// item is a file. It is complete if its day has ended and no sample is missing; late samples may
// still change it.
type item struct {
	Day      string `json:"day"`
	URL      string `json:"url"`
	Complete bool   `json:"complete"`
}

// selection is the parameters of a request for days.
type selection struct {
	pv       string
	from, to int64
	limit    int
}

func newSelection(q *openapi.Query, now time.Time) (s selection, err error) {
	if s.pv, err = parseName(q.Get("pv")); err != nil {
		return s, fmt.Errorf("parameter pv: %w", err)
	}
	if s.from, err = q.TimeOr("from", query.Earliest); err != nil {
		return s, err
	}
	if s.to, err = q.TimeOr("to", now.Add(24*time.Hour).UnixNano()); err != nil {
		return s, err
	}
	if s.from > s.to {
		return s, fmt.Errorf("parameter from: %s is after the parameter to, %s", clock(s.from), clock(s.to))
	}
	s.limit = q.Int("limit")
	return s, nil
}

// days answers the days of a PV with samples in a range, all of them by default.
func (h *Handler) days(w http.ResponseWriter, r *http.Request, q *openapi.Query) {
	s, err := newSelection(q, h.Now())
	if err != nil {
		answerError(w, http.StatusBadRequest, err)
		return
	}
	leave, err := h.Reads.Enter(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	var lost query.Losses
	list, err := h.list(r.Context(), s, &lost)
	if err != nil {
		h.fail(w, r, fmt.Errorf("reading %s: %w", s.pv, err))
		return
	}
	if list.CompleteUntil != "" {
		w.Header().Set(stream.CompleteUntil, list.CompleteUntil)
	}
	if n := lost.Count(); n > 0 {
		w.Header().Set(stream.LostSamples, strconv.FormatUint(n, 10))
	}
	answer(w, http.StatusOK, list)
}

// list finds the first sample of each day. It reads a few samples of a day, and skips times without
// samples.
func (h *Handler) list(ctx context.Context, s selection, lost *query.Losses) (*listing, error) {
	settled := h.Now().Add(-settling).UnixNano()
	last, err := h.Reader.LastAt(ctx, s.pv, s.to)
	if err != nil {
		return nil, err
	}
	l := &listing{PV: s.pv, Days: []item{}}
	if last.CompleteUntil < s.to {
		l.CompleteUntil = stream.Until(last.CompleteUntil)
	}
	for at := s.from; ; {
		first, err := h.Reader.FirstFrom(ctx, s.pv, at, lost)
		if err != nil {
			return nil, err
		}
		if first == nil || first.Times[0] > s.to {
			return l, nil
		}
		d := dayOf(first.Times[0])
		if len(l.Days) == s.limit {
			l.Next = clock(d.from())
			return l, nil
		}
		l.Days = append(l.Days, item{d.String(), key{pv: s.pv, day: d}.url(), min(last.CompleteUntil, settled) >= d.end()})
		at = d.end()
	}
}
