package native

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/request"
)

// maxNear is the largest number of names near another one.
const (
	maxNear     = 20
	defaultNear = 5
	// maxWords is how many words of a description a request may name.
	maxWords = 8
)

// names answers the names of all PVs that the archive knows, captured or not, in order. With the
// parameter near it answers those that are most like a name, the most similar one first. With description it
// answers captured PVs by their descriptions.
func (h *Handler) names(w http.ResponseWriter, r *http.Request, q *openapi.Query) {
	limit := q.Int("limit")
	near := q.Get("near")
	p, err := foldable(q)
	switch {
	case err != nil || near == "":
	case q.Has("description"):
		err = errors.New("parameter near: it cannot be combined with description")
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
	p.After = q.Get("after")
	if q.Has("description") {
		h.describedNames(w, r, q.Get("description"), p.Matches, limit)
		return
	}
	all, err := h.Reader.Find(r.Context(), p, limit+1)
	h.answerNames(w, r, all, limit, err)
}

// describedNames answers the captured PVs whose descriptions contain all words of a text.
func (h *Handler) describedNames(w http.ResponseWriter, r *http.Request, text string, passes func(pv string) bool, limit int) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 || len(words) > maxWords {
		h.fail(w, r, badRequest{fmt.Errorf("parameter description: it has %d words, and must have 1 to %d", len(words), maxWords)})
		return
	}
	index, err := h.Descriptions.get(r.Context())
	var found []describedPV
	if err == nil {
		found, err = index.search(r.Context(), words, func(pv string) bool { return passes(pv) && h.Reader.Sees(r.Context(), pv) }, limit+1)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	out := nameList{Names: []string{}, Descriptions: map[string]string{}, Incomplete: index.incomplete}
	if len(found) > limit {
		found, out.Next = found[:limit], found[limit-1].pv
	}
	for _, d := range found {
		out.Names = append(out.Names, d.pv)
		out.Descriptions[d.pv] = d.text
	}
	answer(w, http.StatusOK, out)
}

// nameList is an answer with names.
type nameList struct {
	Names []string `json:"names"`
	Next  string   `json:"next,omitempty"`
	// Descriptions are those of the names, and Incomplete is the reason why PVs are missing. Only a search for
	// descriptions has them.
	Descriptions map[string]string `json:"descriptions,omitempty"`
	Incomplete   string            `json:"incomplete,omitempty"`
}

func (h *Handler) answerNames(w http.ResponseWriter, r *http.Request, names []string, limit int, err error) {
	if err != nil {
		h.fail(w, r, err)
		return
	}
	out := nameList{Names: names}
	if len(names) > limit {
		out.Names, out.Next = names[:limit], names[limit-1]
	}
	if out.Names == nil {
		out.Names = []string{}
	}
	answer(w, http.StatusOK, out)
}
