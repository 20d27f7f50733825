package appliance

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/request"
)

// Channels returns the states of captured PVs.
type Channels interface {
	// Status returns the state of one PV. It returns an error if the engine that may capture
	// the PV is unreachable.
	Status(ctx context.Context, pv string) (s capture.Status, captured bool, err error)
}

// Handler serves /retrieval and /mgmt. The caller sets its fields before use.
type Handler struct {
	Reader   *query.Reader
	Channels Channels
	// Version is the answer to getVersion.
	Version string
	// Name is the identity of the appliance in answers.
	Name string
	Now  func() time.Time
	Log  *slog.Logger
}

// Register adds the paths to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /retrieval/data/{file}", h.data)
	mux.HandleFunc("GET /retrieval/bpl/getVersion", h.version)
	mux.HandleFunc("GET /retrieval/bpl/getMatchingPVs", h.matchingPVs)
	mux.HandleFunc("GET /retrieval/bpl/searchForPVsRegex", h.searchForPVsRegex)
	mux.HandleFunc("GET /retrieval/bpl/getMetadata", h.metadata)
	mux.HandleFunc("GET /mgmt/bpl/getPVTypeInfo", h.typeInfo)
	mux.HandleFunc("GET /mgmt/bpl/getPVDetails", h.details)
	mux.HandleFunc("GET /mgmt/bpl/getAllPVs", h.allPVs)
	mux.HandleFunc("POST /mgmt/bpl/getAllPVs", h.allPVs)
	mux.HandleFunc("GET /mgmt/bpl/getPVStatus", h.pvStatus)
	mux.HandleFunc("POST /mgmt/bpl/getPVStatus", h.pvStatus)
	for _, call := range refused {
		mux.HandleFunc("/mgmt/bpl/"+call, h.refuse)
	}
}

func (h *Handler) version(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"version": h.Version})
}

// fail answers a request whose read failed.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client has disconnected
	}
	h.Log.Error("request failed", "path", r.URL.Path, "err", err)
	http.Error(w, err.Error(), request.Code(err))
}

func badRequest(w http.ResponseWriter, err error) { http.Error(w, err.Error(), http.StatusBadRequest) }

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	_, _ = w.Write(append(b, '\n')) // an error means that the client has disconnected
}

func writeLines(w http.ResponseWriter, lines []string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, l := range lines {
		if _, err := io.WriteString(w, l+"\n"); err != nil {
			return
		}
	}
}
