package native

import (
	"fmt"
	"net/http"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/request"
)

// maxNear is the largest number of names near another one.
const maxNear = 20

// names answers the names of all PVs that the archive knows, captured or not, in order. With the
// parameter near it answers those that are most like a name, the most similar one first.
func (h *Handler) names(w http.ResponseWriter, r *http.Request) {
	q, err := request.Parameters(r.URL.RawQuery, "pv", "near", "limit", "after")
	var limit int
	if err == nil {
		limit, err = request.Limit(q, defaultLimit)
	}
	most := maxLimit
	if q.Get("near") != "" {
		most = maxNear
		if !q.Has("limit") {
			limit = 5
		}
	}
	var match request.Matcher
	if err == nil {
		match, err = matcher(q)
	}
	switch {
	case err != nil:
	case limit < 1 || limit > most:
		err = fmt.Errorf("parameter limit: %d is not a number from 1 to %d", limit, most)
	case q.Get("near") != "" && (q.Has("pv") || q.Has("after")):
		err = fmt.Errorf("parameter near: it cannot be combined with pv and after")
	}
	if err != nil {
		answerError(w, http.StatusBadRequest, err)
		return
	}
	leave, err := h.Reads.Enter(r.Context()) // the directory of a large archive has a million names
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	if near := q.Get("near"); near != "" {
		list := request.NewNearest(pvname.Canonical(near), limit)
		_, err = h.Reader.Names(r.Context(), list.Add, limit)
		h.answerNames(w, r, list.Names(), limit, err)
		return
	}
	after := q.Get("after")
	all, err := h.Reader.Names(r.Context(), func(pv string) bool { return pv > after && match(pv) }, limit+1)
	h.answerNames(w, r, all, limit, err)
}

func (h *Handler) answerNames(w http.ResponseWriter, r *http.Request, names []string, limit int, err error) {
	if err != nil {
		h.fail(w, r, err)
		return
	}
	out := struct {
		Names []string `json:"names"`
		Next  string   `json:"next,omitempty"`
	}{Names: names}
	if len(names) > limit {
		out.Names, out.Next = names[:limit], names[limit-1]
	}
	if out.Names == nil {
		out.Names = []string{}
	}
	answer(w, http.StatusOK, out)
}
