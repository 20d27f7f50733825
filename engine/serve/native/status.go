package native

import (
	"cmp"
	"maps"
	"net/http"
	"slices"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/openapi"
)

// summary summarizes the channels of one group, or of all groups.
type summary struct {
	Group    string            `json:"group,omitempty"`
	Channels int               `json:"channels"`
	States   map[string]int    `json:"states"`
	Rate     float64           `json:"rate"` // samples/s
	Received uint64            `json:"received"`
	Stored   uint64            `json:"stored"`
	Pending  uint64            `json:"pending"`
	Dropped  map[string]uint64 `json:"dropped,omitempty"` // by reason

	dropped [sample.NumReasons]uint64
}

func (m *summary) add(s *capture.Status) {
	if m.States == nil {
		m.States = map[string]int{}
	}
	m.Channels++
	m.States[s.State.String()]++
	m.Rate += s.Rate
	m.Received += s.Received
	m.Stored += s.Stored
	m.Pending += pending(s)
	for r, n := range s.Dropped {
		m.dropped[r] += n
	}
}

// status answers the summary of each group, and their total.
func (h *Handler) status(w http.ResponseWriter, r *http.Request, _ *openapi.Query) {
	total := &summary{States: map[string]int{}}
	groups := map[string]*summary{}
	incomplete := ""
	for s, err := range h.Channels.Statuses(r.Context()) {
		if err != nil {
			incomplete = err.Error()
			continue
		}
		g := groups[s.Group]
		if g == nil {
			g = &summary{Group: s.Group}
			groups[s.Group] = g
		}
		g.add(&s)
		total.add(&s)
	}
	list := slices.SortedFunc(maps.Values(groups), func(a, b *summary) int { return cmp.Compare(a.Group, b.Group) })
	for _, m := range append(slices.Clone(list), total) {
		m.Dropped = drops(&m.dropped)
	}
	answer(w, http.StatusOK, struct {
		Total  *summary   `json:"total"`
		Groups []*summary `json:"groups"`
		// Incomplete is the reason why channels are missing from the answer.
		Incomplete string `json:"incomplete,omitempty"`
		// GivenUp is absent if the disk guard deleted nothing early.
		GivenUp *givenUp `json:"givenUp,omitempty"`
		// Warnings are problems of the process, such as an invalid manifest.
		Warnings []string `json:"warnings,omitempty"`
	}{total, append([]*summary{}, list...), incomplete, h.givenUp(r.Context()), h.Warnings(r.Context())})
}
