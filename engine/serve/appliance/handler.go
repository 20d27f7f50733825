package appliance

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/edit"
	"varve.dev/varve/engine/serve/request"
)

// Channels returns the states of captured PVs.
type Channels interface {
	// Statuses yields the states of all PVs, sorted by name. An error means that some states
	// are missing, such as those of an unreachable engine. The other states follow.
	Statuses(ctx context.Context) iter.Seq2[capture.Status, error]
	// Status returns the state of one PV. It returns an error if the engine that may capture
	// the PV is unreachable.
	Status(ctx context.Context, pv string) (s capture.Status, captured bool, err error)
}

// Handler serves /retrieval and /mgmt. The caller sets its fields before use.
type Handler struct {
	Reader   *query.Reader
	Channels Channels
	// Reads admits reads of samples. It may be nil.
	Reads *admission.Gate
	// Edit changes the groups that accept requests. If it is nil, none does.
	Edit edit.Editor
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
	mux.HandleFunc("POST /retrieval/data/{file}", h.data)
	for _, call := range []string{"getDataAtTime", "getDataAtTimeForAppliance"} { // the archive is one appliance
		mux.HandleFunc("GET /retrieval/data/"+call, h.dataAtTime)
		mux.HandleFunc("POST /retrieval/data/"+call, h.dataAtTime)
	}
	mux.HandleFunc("GET /retrieval/ping", ping)
	h.register(mux)
}

// ping answers that the server runs, with the word of the Appliance.
func ping(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "Pong\n") // an error means that the client has disconnected
}

// fail answers a request whose read failed.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client has disconnected
	}
	h.Log.Error("request failed", "path", r.URL.Path, "err", err)
	http.Error(w, err.Error(), request.Code(w.Header(), err))
}

func badRequest(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), request.BadCode(w.Header(), err))
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	_, _ = w.Write(append(b, '\n')) // an error means that the client has disconnected
}
