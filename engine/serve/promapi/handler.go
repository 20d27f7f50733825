package promapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/request"
)

// base is the beginning of all paths of the API. The paths of Prometheus, such as /api/v1/query, follow it.
const base = "/prometheus"

// Handler serves the API. The caller sets its fields before use.
type Handler struct {
	Reader *query.Reader
	// Reads admits reads. It may be nil.
	Reads   *admission.Gate
	Version string
	Now     func() time.Time
	Log     *slog.Logger
}

// call is a call of the API.
type call struct {
	path string
	post bool // the call also takes its parameters in a form
	// parameters are the parameters that the call accepts. Calls that list metrics ignore start and end:
	// Prometheus, too, may list metrics that have no samples in the range.
	parameters request.Known
	serve      func(h *Handler, w http.ResponseWriter, r *http.Request, q url.Values) error
}

var calls = []call{
	{"query", true, request.Known{Once: []string{"query", "time", "timeout"}}, (*Handler).query},
	{"query_range", true, request.Known{Once: []string{"query", "start", "end", "step", "timeout"}}, (*Handler).queryRange},
	{"labels", true, request.Known{Once: []string{"limit"}, Repeated: []string{"match[]"}, Ignored: []string{"start", "end"}}, (*Handler).labels},
	{"series", true, request.Known{Once: []string{"limit"}, Repeated: []string{"match[]"}, Ignored: []string{"start", "end"}}, (*Handler).series},
	{"label/{label}/values", false, request.Known{Once: []string{"limit"}, Repeated: []string{"match[]"}, Ignored: []string{"start", "end"}}, (*Handler).values},
	{"metadata", false, request.Known{Once: []string{"limit", "limit_per_metric", "metric"}}, (*Handler).metadata},
	{"status/buildinfo", false, request.Known{}, (*Handler).buildInfo},
}

// Register adds the paths to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	for _, c := range calls {
		path := base + "/api/v1/" + c.path
		mux.HandleFunc("GET "+path, h.handler(&c))
		if c.post {
			mux.HandleFunc("POST "+path, h.handler(&c))
		}
	}
	mux.HandleFunc(base+"/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "not_found",
			r.Method+" "+r.URL.Path+" is not a call of the Prometheus API that the archive supports")
	})
}

func (h *Handler) handler(c *call) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := r.ParseForm()
		if err == nil {
			err = c.parameters.Check(r.Form)
		}
		if err != nil {
			writeError(w, request.BadCode(w.Header(), err), "bad_data", err.Error())
			return
		}
		leave, err := h.Reads.Enter(r.Context())
		if err == nil {
			defer leave()
			err = c.serve(h, w, r, r.Form)
		}
		if err != nil {
			h.fail(w, r, err)
		}
	}
}

// badData is the error of a wrong parameter. notExecuted is the error of a query that cannot be answered.
type (
	badData     struct{ error }
	notExecuted struct{ error }
)

// Unwrap returns the error itself.
func (e badData) Unwrap() error { return e.error }

// Unwrap returns the error itself.
func (e notExecuted) Unwrap() error { return e.error }

// fail answers a request that failed.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var bad badData
	var not notExecuted
	var many query.TooManyMarksError
	switch {
	case errors.As(err, &bad):
		writeError(w, http.StatusBadRequest, "bad_data", err.Error())
	case errors.As(err, &not), errors.As(err, &many):
		writeError(w, http.StatusUnprocessableEntity, "execution", err.Error())
	case r.Context().Err() != nil: // the client has disconnected
	case errors.Is(err, context.DeadlineExceeded):
		writeError(w, http.StatusServiceUnavailable, "timeout", "the query took too long; choose fewer PVs, a shorter range, or avg_over_time(PV[5m])")
	default:
		h.Log.Error("request failed", "path", r.URL.Path, "err", err)
		code, kind := request.Code(w.Header(), err), "internal"
		if code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests {
			kind = "unavailable"
		}
		writeError(w, code, kind, err.Error())
	}
}

func writeError(w http.ResponseWriter, code int, kind, text string) {
	writeJSON(w, code, map[string]string{"status": "error", "errorType": kind, "error": text})
}

// writeData writes an answer with data and warnings.
func writeData(w http.ResponseWriter, data any, warnings ...string) {
	writeJSON(w, http.StatusOK, struct {
		Status   string   `json:"status"`
		Data     any      `json:"data"`
		Warnings []string `json:"warnings,omitempty"`
	}{"success", data, warnings})
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client has disconnected
}
