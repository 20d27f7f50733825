package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/serve/openapi"
)

// Bounds of a page of the table of PVs.
const (
	defaultRows = 100
	maxRows     = 1000
	// maxRanked is how many of the first PVs of an order other than that of names are answered. It
	// bounds the memory of a request.
	maxRanked = 10000
)

// selections are the values of the parameter only.
var selections = map[string]func(s *capture.Status) bool{
	"neverConnected": func(s *capture.Status) bool {
		return s.Connects == 0 && s.State != capture.Connected && s.State != capture.Paused
	},
	"silent":          func(s *capture.Status) bool { return s.Silent },
	"dropped":         func(s *capture.Status) bool { return dropped(s) > 0 },
	"lostConnections": func(s *capture.Status) bool { return s.LostConnections > 0 },
	"arrays":          func(s *capture.Status) bool { return s.Type.IsArray() },
}

// tableOrder returns the order of the table for a value of the parameter sort, or nil for the order of
// names. PVs of equal rank are sorted by name.
func tableOrder(name string, reversed bool) order {
	by := orders[name]
	switch {
	case name == "storage":
		by = func(a, b *capture.Status) int { return cmp.Compare(b.StorageRate(), a.StorageRate()) }
	case name == "engine":
		by = func(a, b *capture.Status) int { return cmp.Compare(a.Engine, b.Engine) }
	case name == "name" && !reversed:
		return nil
	case name == "name":
		by = func(a, b *capture.Status) int { return cmp.Compare(a.PV, b.PV) }
	}
	return func(a, b *capture.Status) int {
		c := by(a, b)
		if reversed {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.PV, b.PV))
	}
}

// pvTable is a page of the table of PVs.
type pvTable struct {
	// Total is the number of PVs that are captured, and Matched that of those that pass the filters.
	Total   int `json:"total"`
	Matched int `json:"matched"`
	// Reachable is how many of the matched PVs a request with this order can reach by its offset.
	Reachable int     `json:"reachable"`
	Offset    int     `json:"offset"`
	PVs       []pvRow `json:"pvs"`
	// Incomplete is the reason why PVs are missing from the answer.
	Incomplete string `json:"incomplete,omitempty"`
}

// pvTable answers a page of the table of PVs. It reads each state once, and holds those of the page, or
// the first maxRanked of an order other than that of names.
func (h *Handler) pvTable(w http.ResponseWriter, r *http.Request, q *openapi.Query) {
	by := tableOrder(q.Get("sort"), q.Get("order") == "reversed")
	passes, err := tableFilter(q)
	offset, limit, after := q.Int("offset"), q.Int("limit"), q.Get("after")
	switch {
	case err != nil:
	case after != "" && (by != nil || offset > 0):
		err = errors.New("parameter after: it works only in the order of names and without an offset; remove sort, order and offset")
	case by != nil && offset+limit > maxRanked:
		err = fmt.Errorf("parameter offset: offset and limit are %d in all, and may be %d in this order; filter the PVs, reverse the order, or sort by name",
			offset+limit, maxRanked)
	}
	if err != nil {
		h.fail(w, r, badRequest{err})
		return
	}
	leave, err := h.Reads.Enter(r.Context()) // a large archive has a million states
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	t := h.readTable(r.Context(), passes, by, offset, limit, after)
	if r.Context().Err() == nil {
		answer(w, http.StatusOK, t)
	}
}

// readTable returns up to limit PVs that pass a filter. They begin at an offset or after a name.
func (h *Handler) readTable(ctx context.Context, passes func(s *capture.Status) bool, by order, offset, limit int, after string) *pvTable {
	t := &pvTable{Offset: offset, PVs: []pvRow{}}
	first := firsts{limit: offset + limit, compare: by}
	before := 0 // matched PVs that the page leaves out at its start
	for s, err := range h.Channels.Statuses(ctx) {
		if err != nil {
			t.Incomplete = err.Error()
			continue
		}
		t.Total++
		if !passes(&s) {
			continue
		}
		t.Matched++
		switch {
		case by != nil:
			first.add(&s)
		case s.PV <= after && after != "" || before < offset:
			before++
		case len(t.PVs) < limit:
			t.PVs = append(t.PVs, h.namedRow(ctx, &s))
		}
	}
	t.Reachable = t.Matched
	if by == nil {
		t.Offset = min(before, t.Matched)
		return t
	}
	t.Reachable = min(t.Matched, maxRanked)
	first.cut()
	for i := min(offset, len(first.list)); i < len(first.list); i++ {
		t.PVs = append(t.PVs, h.namedRow(ctx, first.list[i]))
	}
	return t
}

// tableFilter returns the filter for the parameters pv, ignoreCase, state, group, engine, cause and only.
func tableFilter(q *openapi.Query) (func(s *capture.Status) bool, error) {
	p, err := foldable(q)
	state, group, engine, cause, only := q.Get("state"), q.Get("group"), q.Get("engine"), strings.ToLower(q.Get("cause")), selections[q.Get("only")]
	return func(s *capture.Status) bool {
		return p.Matches(s.PV) && passesFilter(state, s.State.String()) && passesFilter(group, s.Group) && passesFilter(engine, s.Engine) &&
			(cause == "" || strings.Contains(strings.ToLower(s.Cause), cause)) && (only == nil || only(s))
	}, err
}

// tableSorts are the values of the parameter sort.
func tableSorts() []string { return append([]string{"name", "engine", "storage"}, Orders...) }

func selectionNames() (names []string) {
	for name := range selections {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// pvCall describes the table of PVs.
func pvCall() call {
	return call{Call: openapi.Call{
		Path: "/api/v1/pvs", ID: "pvs", Summary: "A table of the captured PVs: filtered, sorted, in pages",
		Description: "Unlike channels, the answer counts the PVs, and a page can begin anywhere. Rates are smoothed over about half a minute. " +
			"In another order than that of names, only the first 10000 PVs can be read. A page that begins at an offset moves when PVs before it come or go; " +
			"one that begins after a name does not.",
		Parameters: []openapi.Parameter{
			{Name: "pv", Description: "A pattern of names, with * and ?.", Example: "SR01-VA:*"},
			ignoreCase(),
			{Name: "state", Kind: openapi.Choice, Choices: states(), Description: "Only PVs in this state."},
			{Name: "group", Description: "Only PVs of this group.", Example: "lab/vacuum"},
			{Name: "engine", Description: "Only PVs that this engine captures. Only retrieval pods know the engines.", Example: "main-engine-0"},
			{Name: "cause", Description: "Only PVs whose cause contains this text, in upper or lower case.", Example: "refused"},
			{Name: "only", Kind: openapi.Choice, Choices: selectionNames(), Description: "Only PVs that never connected, are silent, dropped samples, lost connections, or have arrays."},
			{Name: "sort", Kind: openapi.Choice, Choices: tableSorts(), Default: "name", Description: "The order. The largest numbers, the latest changes of state, and the oldest samples come first; names of engines are in the order of letters."},
			{Name: "order", Kind: openapi.Choice, Choices: []string{"normal", "reversed"}, Default: "normal", Description: "Whether the order is reversed."},
			{Name: "offset", Kind: openapi.Integer, Min: 0, Max: 100_000_000, Default: "0", Description: "How many PVs come before the page."},
			{Name: "after", Description: "Begin after this name instead, in the order of names.", Example: "SR:I"},
			{Name: "limit", Kind: openapi.Integer, Min: 1, Max: maxRows, Default: fmt.Sprint(defaultRows), Description: "The maximum number of PVs in the answer."},
		},
		Answers: openapi.Answers(openapi.Ref("PVs"), nil, http.StatusServiceUnavailable),
	}, serve: (*Handler).pvTable}
}
