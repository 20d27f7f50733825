package explore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/change"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/request"
)

const (
	// maxCompared is the maximum number of PVs that a request compares.
	maxCompared = 20_000
	// defaultChanges and maxChanges are for the parameter limit.
	defaultChanges = 50
	maxChanges     = 1000
	// minWindow and maxWindow bound the window.
	minWindow = time.Second
	maxWindow = 366 * 24 * time.Hour
	// maxComparisons is how many requests compare PVs at a time, and comparisonShare how many of them one
	// client may have: a user who selects another window begins before the last comparison has ended.
	maxComparisons  = 4
	comparisonShare = 2
	// comparisonTime bounds a request. PVs that are not compared in that time are left out.
	comparisonTime = time.Minute
)

// Channels returns the states of captured PVs.
type Channels interface {
	// Statuses yields the states of all PVs. An error means that some states are missing.
	Statuses(ctx context.Context) iter.Seq2[capture.Status, error]
}

// changesQuery is a request for the PVs whose behaviour changed most.
type changesQuery struct {
	pattern, group string
	from, to       int64
	limit          int
}

func (h *Handler) changesQuery(q *openapi.Query) (*changesQuery, error) {
	c := &changesQuery{pattern: cmp.Or(q.Get("pv"), "*"), group: q.Get("group"), limit: q.Int("limit")}
	if c.group != "" && q.Has("pv") {
		return nil, badRequest{errors.New("parameter group: it cannot be combined with the parameter pv")}
	}
	var err error
	c.from, c.to, err = h.window(q)
	return c, err
}

// window returns the window in ns since 1970. It ends now at the latest.
func (h *Handler) window(q *openapi.Query) (from, to int64, err error) {
	if from, to, err = q.Range(); err != nil {
		return from, to, badRequest{err}
	}
	to = min(to, h.now().UnixNano())
	switch length := time.Duration(to - from); {
	case length < minWindow || length > maxWindow:
		err = badRequest{fmt.Errorf("parameter from: the window from %s to %s is not from %v to 366 days long; a window ends now at the latest", clock(from), clock(to), minWindow)}
	case from-int64(change.History+1)*int64(length) < query.Earliest:
		err = badRequest{fmt.Errorf("parameter from: the %d windows before it would begin before %s", change.History+1, clock(query.Earliest))}
	}
	return from, to, err
}

// changes answers the PVs of a pattern or a group whose behaviour changed most in a window.
func (h *Handler) changes(w http.ResponseWriter, r *http.Request, params *openapi.Query) {
	q, err := h.changesQuery(params)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	client := admission.ClientOf(r.Context())
	if !h.comparing.Take(client, 1) {
		h.fail(w, r, fmt.Errorf("comparing PVs: at most %d requests do so at a time, and %d of one client: %w", maxComparisons, comparisonShare, admission.ErrFull))
		return
	}
	defer h.comparing.Give(client, 1)
	leave, err := h.reads.EnterHolding(r.Context(), (workers-1)*admission.PlaceBytes)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	pvs, err := h.compared(r.Context(), q)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	out, err := h.compare(r.Context(), q, pvs)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(out) // an error means that the client has disconnected
}

// compared returns the names of the PVs that a request compares.
func (h *Handler) compared(ctx context.Context, q *changesQuery) ([]string, error) {
	if q.group != "" {
		return h.members(ctx, q.group)
	}
	p, err := request.GlobsPattern(q.pattern)
	if err != nil {
		return nil, badRequest{err}
	}
	pvs, err := h.reader.Find(ctx, p, maxCompared+1)
	switch {
	case err != nil:
	case len(pvs) == 0:
		err = badRequest{fmt.Errorf("parameter pv: no PV matches %.200q; a pattern has * and ?, such as SR01*", q.pattern)}
	case len(pvs) > maxCompared:
		err = badRequest{fmt.Errorf("parameter pv: more than %d PVs match %.200q; choose fewer by a pattern such as SR01*, or by group", maxCompared, q.pattern)}
	}
	return pvs, err
}

// members returns the PVs that a group captures.
func (h *Handler) members(ctx context.Context, group string) (all []string, err error) {
	for s, err := range h.channels.Statuses(ctx) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("listing the PVs of group %.200s: %w: %w", group, query.ErrNoAnswer, err)
		case s.Group != group:
		case len(all) == maxCompared:
			return nil, badRequest{fmt.Errorf("parameter group: %.200q has more than %d PVs; choose fewer with the parameter pv", group, maxCompared)}
		default:
			all = append(all, s.PV)
		}
	}
	if len(all) == 0 {
		return nil, badRequest{fmt.Errorf("parameter group: no group %.200q captures PVs; write it as NAMESPACE/NAME", group)}
	}
	return all, nil
}
