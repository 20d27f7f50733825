package explore

import (
	"context"
	"net/http"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/store"
)

const (
	// defaultGaps and maxGaps are for the parameter limit: gaps and losses of each PV.
	defaultGaps = 1000
	maxGaps     = 10_000
	// maxEarlier bounds the marks before a range that are read to find out in what state it begins.
	maxEarlier = 10_000
)

// gapsOf is what the answer says of a PV.
type gapsOf struct {
	PV string `json:"pv"`
	// Gaps are the times without updates, and Losses the samples that are missing at other times.
	Gaps   []gap  `json:"gaps"`
	Losses []loss `json:"losses"`
	// LeftOutFrom is the time from which gaps and losses are left out, because there are too many.
	LeftOutFrom string `json:"leftOutFrom,omitempty"`
}

// gaps answers the times in a range in which no updates of PVs arrived, and why.
func (h *Handler) gaps(w http.ResponseWriter, r *http.Request, q *openapi.Query) {
	h.answerEach(w, r, q, func(ctx context.Context, pv string, s span) (any, error) {
		return h.gapsOf(ctx, pv, s.from, s.to, q.Int("limit"))
	})
}

// gapsOf returns the gaps and losses of a PV that touch a range.
func (h *Handler) gapsOf(ctx context.Context, pv string, from, to int64, limit int) (*gapsOf, error) {
	known, err := h.reader.Known(ctx, pv)
	if err == nil && !known {
		err = query.ErrUnknownPV
	}
	if err != nil {
		return nil, err
	}
	before, whole, err := h.earlier(ctx, pv, from)
	if err != nil {
		return nil, err
	}
	d := newDetector(from, limit, whole)
	for i := len(before) - 1; i >= 0; i-- {
		d.add(&before[i])
	}
	for m, err := range h.reader.Marks(ctx, pv, from+1, to) {
		if err != nil {
			return nil, err
		}
		if !d.add(&m) {
			break
		}
	}
	out := d.finish()
	out.PV = pvname.Canonical(pv)
	return out, nil
}

// earlier returns the marks of a PV at or before a time since its last connection, the latest first.
// whole is true if these are all marks up to that time.
func (h *Handler) earlier(ctx context.Context, pv string, at int64) (marks []store.PVMark, whole bool, err error) {
	for m, err := range h.reader.Store.LatestMarks(ctx, pvname.Canonical(pv), at) {
		if err != nil {
			return nil, false, err
		}
		if marks = append(marks, m); m.Kind.Delivers() || len(marks) == maxEarlier {
			return marks, false, nil
		}
	}
	return marks, true, nil
}
