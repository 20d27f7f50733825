package appliance

import (
	"errors"
	"strings"
)

// version answers the version of the server.
func (h *Handler) version(args) (any, error) { return map[string]string{"version": h.Version}, nil }

// versions answers the version of each part of the Appliance. Here all of them are one program.
func (h *Handler) versions(a args) (any, error) {
	return map[string]string{
		"mgmt_version": h.Version, "engine_version": h.Version, "etl_version": h.Version, "retrieval_version": h.Version,
	}, h.checkIdentity(a.Get("id"))
}

// checkIdentity returns an error if a request is about another appliance than this one.
func (h *Handler) checkIdentity(id string) error {
	if id != "" && id != h.Name {
		return notFound("%.100q is not an appliance; the only one is %s", id, h.Name)
	}
	return nil
}

// appliance returns the URLs of the archive, as the client sees it. The URLs of parts that clients
// cannot reach are empty.
func (h *Handler) appliance(a args) map[string]string {
	base := "http://" + a.r.Host
	if a.r.TLS != nil {
		base = "https://" + a.r.Host
	}
	return map[string]string{
		"identity": h.Name, "mgmtURL": base + strings.TrimSuffix(mgmt, "/"), "retrievalURL": base + strings.TrimSuffix(retrieval, "/"),
		"dataRetrievalURL": base + "/retrieval", "engineURL": "", "etlURL": "", "clusterInetPort": "",
	}
}

// applianceInfo answers the identity, the URLs and the version of the archive.
func (h *Handler) applianceInfo(a args) (any, error) {
	info := h.appliance(a)
	info["version"] = h.Version
	return info, h.checkIdentity(a.Get("id"))
}

// appliances answers the list of appliances. The archive is one appliance, regardless of the number
// of its engines.
func (h *Handler) appliances(a args) (any, error) { return []any{h.appliance(a)}, nil }

// policies answers the ArchiveGroups, which decide how PVs are archived, with an explanation.
func (h *Handler) policies(a args) (any, error) {
	groups := map[string]string{}
	for s, err := range h.Channels.Statuses(a.r.Context()) {
		if err != nil {
			return nil, incomplete(a.r.Context(), err)
		}
		if _, known := groups[s.Group]; !known {
			groups[s.Group] = "PVs of ArchiveGroup " + s.Group
		}
	}
	return groups, nil
}

// policyText answers the text that decides how PVs are archived. The Appliance has a Python script.
func (h *Handler) policyText(args) (any, error) {
	return text("# ArchiveGroups decide how PVs are archived; " + mgmt + "getPolicyList lists them.\n"), nil
}

// empty answers an empty list or object, of things that the archive does not have.
func empty[T []string | map[string]string | map[string]bool](*Handler, args) (any, error) {
	var none T
	switch any(none).(type) {
	case []string:
		return []string{}, nil
	default:
		return struct{}{}, nil
	}
}

// namedFlag answers a flag of the Appliance. The archive has no flags, so each is false.
func (h *Handler) namedFlag(a args) (any, error) {
	name := a.Get("name")
	if name == "" {
		return nil, badQuery{errors.New("parameter name: the name of a flag is required")}
	}
	return map[string]bool{name: false}, nil
}

// exportConfig answers the type info of all captured PVs that have connected.
func (h *Handler) exportConfig(a args) (any, error) {
	limit, selected, err := selection(a, noLimit)
	if err != nil {
		return nil, err
	}
	ctx := a.r.Context()
	return list(func(yield func(any, error) bool) {
		n := 0
		for s, err := range h.Channels.Statuses(ctx) {
			if n == limit {
				return
			}
			if err == nil && !selected.Matches(s.PV) {
				continue
			}
			i := &info{name: s.PV, captured: true, status: s}
			if err != nil {
				err = incomplete(ctx, err)
			} else {
				err = h.describeInfo(ctx, i)
			}
			if err == nil && !i.meta.Type.Valid() {
				continue // as in the Appliance, which does not archive a PV before it has connected
			}
			n++
			if !yield(h.typeOf(i), err) || err != nil {
				return
			}
		}
	}), nil
}
