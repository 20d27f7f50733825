package native

import (
	"fmt"
	"net/http"
	"net/url"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/request"
)

// Numbers of channels in an answer.
const (
	defaultLimit = 1000
	maxLimit     = 10000
)

// page is a part of a list of channels. Next, if set, is the parameter after of
// the request for the next part.
type page struct {
	Channels []channel `json:"channels"`
	Next     string    `json:"next,omitempty"`
	// Incomplete says why channels are missing that should be there.
	Incomplete string `json:"incomplete,omitempty"`
}

// channels answers the channels, sorted by name, that pass the filters pv (a
// glob), state and group.
func (h *Handler) channels(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := request.Limit(q, defaultLimit)
	if err == nil && (limit < 1 || limit > maxLimit) {
		err = fmt.Errorf("parameter limit: %d is not in 1 to %d", limit, maxLimit)
	}
	if state := q.Get("state"); err == nil && state != "" && !isState(state) {
		err = fmt.Errorf("parameter state: %q is not a state of a channel", state)
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

// filter returns what the parameters pv, state, group and after ask for.
func filter(q url.Values) func(s *capture.Status) bool {
	match := request.Matcher(request.All)
	if q.Get("pv") != "" {
		match = request.Glob(q.Get("pv"))
	}
	after, state, group := q.Get("after"), q.Get("state"), q.Get("group")
	return func(s *capture.Status) bool {
		return s.PV > after && match(s.PV) && is(state, s.State.String()) && is(group, s.Group)
	}
}

// is reports whether a filter passes a value; an empty filter passes all.
func is(filter, v string) bool { return filter == "" || filter == v }

func isState(name string) bool {
	for s := range capture.NumStates {
		if capture.State(s).String() == name {
			return true
		}
	}
	return false
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
