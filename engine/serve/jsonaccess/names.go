package jsonaccess

import (
	"errors"
	"fmt"
	"net/http"

	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/value"
)

// byPattern answers the names that match a glob. As in the Cassandra PV Archiver, case does not
// matter.
func (h *Handler) byPattern(w http.ResponseWriter, r *http.Request) {
	match, err := request.GlobFold(r.PathValue("pattern"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.names(w, r, match)
}

// byRegexp answers the names that match a regular expression.
func (h *Handler) byRegexp(w http.ResponseWriter, r *http.Request) {
	match, err := request.Regexp(r.PathValue("pattern"))
	if err != nil {
		http.Error(w, fmt.Sprintf("the path ends in no regular expression of RE2: %v", errors.Unwrap(err)), http.StatusBadRequest)
		return
	}
	h.names(w, r, match)
}

func (h *Handler) names(w http.ResponseWriter, r *http.Request, match request.Matcher) {
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
	names, err := h.Reader.Names(r.Context(), match, -1)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	l := newList(w, q)
	for _, name := range names {
		l.beginItem()
		l.Buf = value.AppendString(l.Buf, name)
		if err = l.endItem(); err != nil {
			break
		}
	}
	h.finish(w, r, l, err)
}
