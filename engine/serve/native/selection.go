package native

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/request"
)

const (
	// maxPVs is the maximum number of names in a request, and maxMembers that of PVs in a group.
	maxPVs     = 1000
	maxMembers = 10_000
	// maxNearest is how many similar names an error lists.
	maxNearest = 3
)

// selected returns the PVs of a request, each once: those of the parameter pv, or those that a group
// captures.
func (h *Handler) selected(ctx context.Context, q *openapi.Query) ([]string, error) {
	pvs := q.All("pv")
	switch group := q.Get("group"); {
	case group != "" && len(pvs) > 0:
		return nil, badRequest{errors.New("parameter group: it cannot be combined with the parameter pv")}
	case group != "":
		return h.members(ctx, group)
	case len(pvs) == 0:
		return nil, badRequest{errors.New("parameter pv: the name of a PV is required")}
	}
	seen := map[string]bool{}
	var all []string
	for _, pv := range pvs {
		if pv == "" {
			return nil, badRequest{errors.New("parameter pv: a name is empty")}
		}
		if name := pvname.Canonical(pv); !seen[name] {
			seen[name] = true
			all = append(all, pv)
		}
	}
	return all, nil
}

// members returns the PVs that a group captures.
func (h *Handler) members(ctx context.Context, group string) (all []string, err error) {
	for s, err := range h.Channels.Statuses(ctx) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("listing the PVs of group %s: %w: %w", group, query.ErrNoAnswer, err)
		case s.Group != group:
		case len(all) == maxMembers:
			return nil, badRequest{fmt.Errorf("parameter group: %.200q has more than %d PVs; name some with the parameter pv", group, maxMembers)}
		default:
			all = append(all, s.PV)
		}
	}
	if len(all) == 0 {
		return nil, badRequest{fmt.Errorf("parameter group: no group %.200q captures PVs; write it as NAMESPACE/NAME", group)}
	}
	return all, nil
}

// badRequest is an error in a parameter.
type badRequest struct{ error }

// similar returns a text with the names that are most like an unknown one, or "".
func (h *Handler) similar(ctx context.Context, pv string) string {
	list := request.NewNearest(pvname.Canonical(pv), maxNearest)
	if _, err := h.Reader.Names(ctx, list.Add, maxNearest); err != nil || len(list.Names()) == 0 {
		return ""
	}
	return "; similar names are " + strings.Join(list.Names(), ", ")
}

// rangeOf parses the parameters from and to.
func rangeOf(q *openapi.Query) (from, to int64, err error) {
	if from, to, err = q.Range(); err != nil {
		err = badRequest{err}
	}
	return from, to, err
}
