package jsonaccess

import (
	"errors"
	"fmt"
	"net/http"

	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/value"
)

// byPattern answers the names that match a glob. As in the Cassandra PV Archiver, case does not
// matter.
func (h *Handler) byPattern(w http.ResponseWriter, r *http.Request) {
	p, err := request.GlobFoldPattern(r.PathValue("pattern"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.names(w, r, p)
}

// byRegexp answers the names that match a regular expression.
func (h *Handler) byRegexp(w http.ResponseWriter, r *http.Request) {
	p, err := request.RegexpPattern(r.PathValue("pattern"))
	if err != nil {
		http.Error(w, fmt.Sprintf("the path ends in no regular expression of RE2: %v", errors.Unwrap(err)), http.StatusBadRequest)
		return
	}
	h.names(w, r, p)
}

func (h *Handler) names(w http.ResponseWriter, r *http.Request, p nameindex.Pattern) {
	if !checkKey(w, r) {
		return
	}
	q, err := request.Parameters(r.URL.RawQuery, prettyPrint)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	leave, err := h.Reads.Enter(r.Context()) // the directory of a large archive has a million names
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	l := newList(w, q)
	for name, failed := range h.Reader.Search(r.Context(), p, -1) {
		if err = failed; err != nil {
			break
		}
		l.beginItem()
		l.Buf = value.AppendString(l.Buf, name)
		if err = l.endItem(); err != nil {
			break
		}
	}
	h.finish(w, r, l, err)
}
