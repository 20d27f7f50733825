package native

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/absence"
	"varve.dev/varve/engine/serve/openapi"
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
// name. With the parameter sort it answers the first ones of another order.
func (h *Handler) channels(w http.ResponseWriter, r *http.Request, q *openapi.Query) {
	by := orders[q.Get("sort")]
	if by != nil && q.Get("after") != "" {
		h.fail(w, r, badRequest{errors.New("parameter after: it works only in the order of names, without the parameter sort")})
		return
	}
	passes, err := filter(q)
	if err != nil {
		h.fail(w, r, badRequest{err})
		return
	}
	answer(w, http.StatusOK, h.page(r.Context(), passes, q.Int("limit"), by))
}

// page returns up to limit channels that pass a filter, sorted by name or in another order.
func (h *Handler) page(ctx context.Context, passes func(s *capture.Status) bool, limit int, by order) *page {
	p := &page{Channels: []channel{}}
	first := firsts{limit: limit, compare: by}
	for s, err := range h.Channels.Statuses(ctx) {
		if err != nil {
			p.Incomplete = err.Error()
			continue
		}
		if !passes(&s) {
			continue
		}
		if by != nil {
			first.add(&s)
			continue
		}
		if len(p.Channels) == limit {
			p.Next = p.Channels[limit-1].PV
			break
		}
		p.Channels = append(p.Channels, newChannel(&s))
	}
	if by != nil {
		first.cut()
		for i := range first.list {
			p.Channels = append(p.Channels, newChannel(first.list[i]))
		}
	}
	return p
}

// filter returns the filter for the parameters pv, state, group and after.
func filter(q *openapi.Query) (func(s *capture.Status) bool, error) {
	p, err := patternOf(q)
	p.After = q.Get("after")
	state, group := q.Get("state"), q.Get("group")
	return func(s *capture.Status) bool {
		return p.Matches(s.PV) && passesFilter(state, s.State.String()) && passesFilter(group, s.Group)
	}, err
}

// patternOf returns the pattern of the parameter pv. It selects all PVs if the parameter is absent.
func patternOf(q *openapi.Query) (nameindex.Pattern, error) {
	if q.Get("pv") == "" {
		return nameindex.Pattern{}, nil
	}
	return request.GlobsPattern(q.Get("pv"))
}

// foldable is patternOf for a call that has the parameter ignoreCase.
func foldable(q *openapi.Query) (nameindex.Pattern, error) {
	if q.Get("pv") == "" || q.Get("ignoreCase") != "true" {
		return patternOf(q)
	}
	return request.GlobFoldPattern(q.Get("pv"))
}

// ignoreCase describes the parameter ignoreCase.
func ignoreCase() openapi.Parameter {
	return openapi.Parameter{
		Name: "ignoreCase", Kind: openapi.Choice, Choices: []string{"false", "true"}, Default: "false",
		Description: "Whether pv also matches names that differ only in upper and lower case.",
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
func (h *Handler) channel(w http.ResponseWriter, r *http.Request, _ *openapi.Query) {
	pv := pvname.Canonical(r.PathValue("pv"))
	s, ok, err := h.Channels.Status(r.Context(), pv)
	if err != nil {
		answerError(w, http.StatusServiceUnavailable, err)
		return
	}
	d, err := h.noData(r.Context(), pv, h.Now().UnixNano(), !s.HasLast, 0)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if !ok {
		if d == nil {
			d = newNoData(absence.Cause{Kind: absence.NotCaptured, Text: "it is a field of a PV, and no channel of its own"})
		}
		answer(w, http.StatusNotFound, struct {
			Error  string  `json:"error"`
			NoData *noData `json:"noData"`
		}{fmt.Sprintf("no ArchiveGroup captures %s", pv), d})
		return
	}
	c := newChannel(&s)
	if err := h.addNames(r.Context(), &c, pv); err != nil {
		h.fail(w, r, err)
		return
	}
	c.NoData = d
	c.GivenUp = h.givenUp(r.Context())
	answer(w, http.StatusOK, c)
}
