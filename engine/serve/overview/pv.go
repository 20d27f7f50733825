package overview

import (
	"context"

	"varve.dev/varve/engine/capture"
)

// Groups returns the groups that the process knows. Their manifests may be absent. known is false if it knows none, and missing says why; if it
// knows groups, missing says why some are missing, such as an invalid manifest.
func (h *Handler) Groups() (groups []Group, known bool, missing string) {
	if h.sources.Groups == nil {
		return nil, false, "this process does not know the groups"
	}
	groups, missing = h.sources.Groups()
	return groups, groups != nil || missing == "", missing
}

// Members returns how many channels engines capture for a group, and how many of them are connected. Both are 0 if that is not
// known. The numbers may be some seconds old.
func (h *Handler) Members(ctx context.Context, group string) (channels, connected int) {
	c, err := h.censusOf(ctx)
	if err != nil || c.groups[group] == nil {
		return 0, 0
	}
	m := c.groups[group]
	return m.Channels, m.States[capture.Connected.String()]
}

// EngineStorage returns why an engine cannot store samples, or "" while it can. missing says why that is not known. The name may be empty
// if the archive has one engine. The answer may be some seconds old.
func (h *Handler) EngineStorage(ctx context.Context, name string) (storage, missing string) {
	var a archive
	a.Unknown = map[string]string{}
	fleet, err := h.addFleet(ctx, &a)
	if err != nil {
		return "", err.Error()
	}
	for i := range fleet.Engines {
		e := &fleet.Engines[i]
		switch {
		case e.Engine != name && (name != "" || len(fleet.Engines) > 1):
		case e.Figures == nil:
			return "", "engine " + e.Engine + ": " + e.Missing
		default:
			return e.Figures.Storage, ""
		}
	}
	if why := a.Unknown["engines"]; why != "" {
		return "", why
	}
	return "", "the engine of the PV is not among the engines of the archive"
}
