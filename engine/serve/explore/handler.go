package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/stream"
)

// maxPVs is the maximum number of PVs in a request.
const maxPVs = 32

// Handler serves the paths of this package. Use New.
type Handler struct {
	reader *query.Reader
	reads  *admission.Gate
	now    func() time.Time
	log    *slog.Logger
	// live is how many PVs are followed at a time.
	live *admission.Budget
	// channels are for the PVs of a group, and comparing is how many requests compare PVs.
	channels  Channels
	comparing *admission.Budget
	// compareTime is comparisonTime, except in tests.
	compareTime time.Duration
}

// New returns a handler that reads with reader. channels are the PVs that are captured. reads admits
// reads of samples, and may be nil. now returns the current time.
func New(reader *query.Reader, channels Channels, reads *admission.Gate, now func() time.Time, log *slog.Logger) *Handler {
	return &Handler{reader, reads, now, log, admission.NewBudget(maxLive, liveShare), channels, admission.NewBudget(maxComparisons, comparisonShare), comparisonTime}
}

// Register adds the paths to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	binsCall.Register(mux, h.now, h.bins)
	arraysCall.Register(mux, h.now, h.arrays)
	gapsCall.Register(mux, h.now, h.gaps)
	liveCall.Register(mux, h.now, h.follow)
	changesCall.Register(mux, h.now, h.changes)
	statisticsCall.Register(mux, h.now, h.statistics)
}

// badRequest is an error in a parameter.
type badRequest struct{ error }

// names returns the parameter pv: each name once.
func names(q *openapi.Query) (pvs []string, err error) {
	seen := map[string]bool{}
	for _, pv := range q.All("pv") {
		name := pvname.Canonical(pv)
		if name == "" {
			return nil, badRequest{errors.New("parameter pv: a name is empty")}
		}
		if !seen[name] {
			seen[name] = true
			pvs = append(pvs, pv)
		}
	}
	return pvs, nil
}

// fail answers a request that failed before the first byte of its answer.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var code int
	var bad badRequest
	switch {
	case errors.As(err, &bad):
		code = http.StatusBadRequest
	case errors.Is(err, query.ErrUnknownPV):
		code = http.StatusNotFound
	case r.Context().Err() != nil: // the client has disconnected
		return
	default:
		code = request.Code(w.Header(), err)
		h.log.Error("request failed", "path", r.URL.Path, "err", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()}) // an error means that the client has disconnected
}

// finish ends an answer.
func (h *Handler) finish(w http.ResponseWriter, r *http.Request, a *stream.Answer, err error) {
	a.Finish(r, h.log, err, func(err error) { h.fail(w, r, err) })
}

// explain adds the name of the PV to an error and, if the PV is unknown, similar names.
func (h *Handler) explain(ctx context.Context, pv string, err error) error {
	if err == nil {
		return nil
	}
	similar := ""
	if errors.Is(err, query.ErrUnknownPV) {
		list := request.NewNearest(pvname.Canonical(pv), 3)
		if _, failed := h.reader.Names(ctx, list.Add, 3); failed == nil && len(list.Names()) > 0 {
			similar = "; similar names are " + strings.Join(list.Names(), ", ")
		}
	}
	return fmt.Errorf("reading %.200s: %w%s", pv, err, similar)
}

// clock formats a time in ns since 1970.
func clock(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// optional is clock, but returns "" for a time that is not known: 0, or the largest one.
func optional(ns int64) string {
	if ns == 0 || ns == math.MaxInt64 || ns >= query.Latest {
		return ""
	}
	return clock(ns)
}
