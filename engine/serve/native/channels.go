package native

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/request"
)

// Bounds of the number of channels in an answer.
const (
	defaultLimit = 1000
	maxLimit     = 10000
)

// page is a part of a list of channels.
type page struct {
	Channels []channel `json:"channels"`
	// Next is the value of the parameter after in a request for the next page. It is empty on
	// the last page.
	Next string `json:"next,omitempty"`
	// Incomplete is the reason why channels are missing from the answer. It is empty if none
	// are missing.
	Incomplete string `json:"incomplete,omitempty"`
}

// channels answers the channels that pass the filters pv (a glob), state and group, sorted by
// name.
func (h *Handler) channels(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := request.Limit(q, defaultLimit)
	if err == nil && (limit < 1 || limit > maxLimit) {
		err = fmt.Errorf("parameter limit: %d is not a number from 1 to %d", limit, maxLimit)
	}
	if state := q.Get("state"); err == nil && state != "" && !slices.Contains(states(), state) {
		err = fmt.Errorf("parameter state: %q is not one of %s", state, strings.Join(states(), ", "))
	}
	if err != nil {
		answerError(w, http.StatusBadRequest, err)
		return
	}
	p := page{Channels: []channel{}}
	passes := filter(q)
	for s, err := range h.Channels.Statuses(r.Context()) {
		if err != nil {
			p.Incomplete = err.Error()
			continue
		}
		if !passes(&s) {
			continue
		}
		if len(p.Channels) == limit {
			p.Next = p.Channels[limit-1].PV
			break
		}
		p.Channels = append(p.Channels, newChannel(&s))
	}
	answer(w, http.StatusOK, p)
}

// filter returns the filter for the parameters pv, state, group and after.
func filter(q url.Values) func(s *capture.Status) bool {
	match := request.Matcher(request.All)
	if q.Get("pv") != "" {
		match = request.Glob(q.Get("pv"))
	}
	after, state, group := q.Get("after"), q.Get("state"), q.Get("group")
	return func(s *capture.Status) bool {
		return s.PV > after && match(s.PV) && passesFilter(state, s.State.String()) && passesFilter(group, s.Group)
	}
}

// passesFilter reports whether a value passes a filter. Every value passes an empty filter.
func passesFilter(filter, v string) bool { return filter == "" || filter == v }

// states returns the names of the states of channels.
func states() (names []string) {
	for s := range capture.NumStates {
		names = append(names, capture.State(s).String())
	}
	return names
}

// channel answers one channel.
func (h *Handler) channel(w http.ResponseWriter, r *http.Request) {
	pv := pvname.Canonical(r.PathValue("pv"))
	s, ok, err := h.Channels.Status(r.Context(), pv)
	if err != nil {
		answerError(w, http.StatusServiceUnavailable, err)
		return
	}
	if !ok {
		answerError(w, http.StatusNotFound, fmt.Errorf("no ArchiveGroup captures %s", pv))
		return
	}
	c := newChannel(&s)
	c.GivenUp = h.givenUp(r.Context())
	answer(w, http.StatusOK, c)
}
