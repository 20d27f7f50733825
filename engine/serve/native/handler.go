package native

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"varve.dev/varve/engine/align"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/table"
)

// Channels returns the states of captured PVs. They come from an engine in the same process,
// or from many engines over the network.
type Channels interface {
	// Statuses yields the states of all PVs, sorted by name. An error means that some states
	// are missing, such as those of an unreachable engine. The other states follow.
	Statuses(ctx context.Context) iter.Seq2[capture.Status, error]
	// Status returns the state of one PV. It returns an error if the engine that may capture
	// the PV is unreachable.
	Status(ctx context.Context, pv string) (s capture.Status, captured bool, err error)
}

// Handler serves /api/v1. The caller sets its fields before use.
type Handler struct {
	Reader   *query.Reader
	Channels Channels
	// Descriptions has the PVs that Channels yields, and those that it hides.
	Descriptions *Descriptions
	// Warnings returns problems of the process that need attention, for those who may know them.
	Warnings func(ctx context.Context) []string
	// Reads admits reads of samples. It may be nil.
	Reads *admission.Gate
	// Origin says which archive answers, and in which version.
	Origin []table.Note
	// Surroundings explains the state of a PV.
	Surroundings Surroundings
	Now          func() time.Time
	Log          *slog.Logger
}

// Register adds the paths to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	for _, c := range calls() {
		c.Register(mux, h.Now, h.handler(&c))
	}
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client has disconnected
}

func answerError(w http.ResponseWriter, code int, err error) {
	answer(w, code, map[string]string{"error": err.Error()})
}

// fail answers a request that failed.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var bad badRequest
	var refused align.RefusedError
	var many query.TooManyMarksError
	var unfit *table.TypeError
	switch {
	case errors.As(err, &bad), errors.As(err, &refused), errors.As(err, &unfit):
		answerError(w, http.StatusBadRequest, err)
	case errors.Is(err, align.ErrTooLarge), errors.As(err, &many):
		answerError(w, http.StatusRequestEntityTooLarge, err)
	case errors.Is(err, query.ErrUnknownPV):
		answerError(w, http.StatusNotFound, err)
	case r.Context().Err() != nil: // the client has disconnected
	default:
		h.Log.Error("request failed", "path", r.URL.Path, "err", err)
		answerError(w, request.Code(w.Header(), err), err)
	}
}

// clock formats a time in ns since 1970.
func clock(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
