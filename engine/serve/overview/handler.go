package overview

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/request"
)

// Channels returns the states of captured PVs, as native.Channels.
type Channels interface {
	Statuses(ctx context.Context) iter.Seq2[capture.Status, error]
}

// Config configures a Handler.
type Config struct {
	Reader   *query.Reader
	Channels Channels
	Sources  Sources
	// Warnings returns problems of the process that need attention.
	Warnings func(context.Context) []string
	// SeesAll reports whether the sender of a request may read every PV. Others get 403, because the
	// answers name PVs and are made once for all clients. If it is nil, everybody may.
	SeesAll func(context.Context) bool
	// Reads admits reads of marks. It may be nil.
	Reads *admission.Gate
	Now   func() time.Time
	Log   *slog.Logger
}

// Handler serves the paths of this package. Use New.
type Handler struct {
	reader   *query.Reader
	channels Channels
	sources  Sources
	warnings func(context.Context) []string
	seesAll  func(context.Context) bool
	reads    *admission.Gate
	now      func() time.Time
	log      *slog.Logger

	census   *cache[*census]
	fleet    *cache[Fleet]
	stored   *cache[stored]
	measured *cache[measured]
	growths  *cache[growths]
	checking *admission.Budget // manifests that are being checked
}

// maxChecking is how many manifests are checked at a time, because that takes CPU. A form that checks
// each edit needs two of them, because the server does not stop a check whose client has gone.
const (
	maxChecking   = 4
	checkingShare = 2 // of one client
)

// New returns a handler.
func New(c Config) *Handler {
	return &Handler{
		reader: c.Reader, channels: c.Channels, sources: c.Sources, warnings: c.Warnings, seesAll: c.SeesAll, reads: c.Reads, now: c.Now, log: c.Log,
		census: newCache[*census](freshFor), fleet: newCache[Fleet](freshFor), stored: newCache[stored](storedFor), measured: newCache[measured](measuredFor),
		growths:  newCache[growths](growthsFor),
		checking: admission.NewBudget(maxChecking, checkingShare),
	}
}

// Register adds the paths to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	for _, c := range calls() {
		c.Register(mux, h.now, func(w http.ResponseWriter, r *http.Request, q *openapi.Query) {
			if h.seesAll != nil && !h.seesAll(r.Context()) {
				answer(w, http.StatusForbidden, map[string]string{"error": "only those who may read every PV see the state of the archive and its groups"})
				return
			}
			c.serve(h, w, r, q)
		})
	}
}

// censusOf returns a recent census.
func (h *Handler) censusOf(ctx context.Context) (*census, error) {
	return h.census.get(ctx, h.now, censusTime, h.takeCensus)
}

// badRequest is an error of the client.
type badRequest struct{ error }

// notFound is an error about something that does not exist.
type notFound struct{ error }

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client has disconnected
}

// fail answers a request that failed.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var code int
	var body request.BodyError
	switch {
	case errors.As(err, new(badRequest)):
		code = http.StatusBadRequest
	case errors.As(err, new(notFound)):
		code = http.StatusNotFound
	case errors.As(err, &body):
		code = body.Code
	case r.Context().Err() != nil: // the client has disconnected
		return
	default:
		code = request.Code(w.Header(), err)
		h.log.Error("request failed", "path", r.URL.Path, "err", err)
	}
	answer(w, code, map[string]string{"error": err.Error()})
}

// readAll reads the body of a request, which the server bounds.
func readAll(r *http.Request) ([]byte, error) { return io.ReadAll(r.Body) }
