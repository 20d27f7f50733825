package jsonaccess

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/value"
)

// base is the path of the protocol.
const base = "/archive-access/api/1.0/archive"

// onlyKey is the key of the only archive.
const onlyKey = "1"

// Handler serves /archive-access. The caller sets its fields before use.
type Handler struct {
	Reader *query.Reader
	// Reads admits reads of samples. It may be nil.
	Reads *admission.Gate
	// Name and Description describe the archive to users.
	Name, Description string
	Now               func() time.Time
	Log               *slog.Logger
}

// Register adds the paths to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET "+base, h.archives)
	mux.HandleFunc("GET "+base+"/{$}", h.archives)
	mux.HandleFunc("GET "+base+"/{key}/channels-by-pattern/{pattern...}", h.byPattern)
	mux.HandleFunc("GET "+base+"/{key}/channels-by-regexp/{pattern...}", h.byRegexp)
	mux.HandleFunc("GET "+base+"/{key}/samples/{pv...}", h.samples)
}

// archives answers the list of archives.
func (h *Handler) archives(w http.ResponseWriter, r *http.Request) {
	q, err := request.Parameters(r.URL.RawQuery, prettyPrint)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l := newList(w, q)
	l.beginItem()
	l.Buf = value.AppendString(append(l.Buf, `{"key":`+onlyKey+`,"name":`...), h.Name)
	l.Buf = value.AppendString(append(l.Buf, `,"description":`...), h.Description)
	l.Buf = append(l.Buf, '}')
	h.finish(w, r, l, l.endItem())
}

// checkKey answers 404 if the request is for another archive, and reports whether it is not.
func checkKey(w http.ResponseWriter, r *http.Request) bool {
	key := r.PathValue("key")
	if key != onlyKey {
		http.Error(w, fmt.Sprintf("there is no archive with the key %q; the only key is %s", key, onlyKey), http.StatusNotFound)
	}
	return key == onlyKey
}

// finish ends a list. It aborts the list if an error occurs after the first byte.
func (h *Handler) finish(w http.ResponseWriter, r *http.Request, l *list, err error) {
	if err == nil {
		l.close()
	}
	l.Finish(r, h.Log, err, func(err error) { h.fail(w, r, err) })
}

// fail answers a request whose read failed.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, query.ErrUnknownPV):
		http.Error(w, err.Error(), http.StatusNotFound)
	case r.Context().Err() != nil: // the client has disconnected
	default:
		h.Log.Error("request failed", "path", r.URL.Path, "err", err)
		http.Error(w, err.Error(), request.Code(w.Header(), err))
	}
}
