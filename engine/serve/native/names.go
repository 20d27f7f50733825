package native

import (
	"errors"
	"fmt"
	"net/http"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/request"
)

// maxNear is the largest number of names near another one.
const (
	maxNear     = 20
	defaultNear = 5
)

// names answers the names of all PVs that the archive knows, captured or not, in order. With the
// parameter near it answers those that are most like a name, the most similar one first.
func (h *Handler) names(w http.ResponseWriter, r *http.Request, q *openapi.Query) {
	limit := q.Int("limit")
	near := q.Get("near")
	match, err := matcher(q)
	switch {
	case err != nil || near == "":
	case q.Has("pv") || q.Has("after"):
		err = errors.New("parameter near: it cannot be combined with pv and after")
	case !q.Has("limit"):
		limit = defaultNear
	case limit > maxNear:
		err = fmt.Errorf("parameter limit: %d is not a number from 1 to %d, with the parameter near", limit, maxNear)
	}
	if err != nil {
		h.fail(w, r, badRequest{err})
		return
	}
	leave, err := h.Reads.Enter(r.Context()) // the directory of a large archive has a million names
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	if near != "" {
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
