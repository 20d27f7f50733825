package appliance

import (
	"context"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/field"
)

// named is the PV that a name is about, and its state:
//
//	SR:I ──────▶ SR:I
//	an alias ──▶ its PV
//	SR:I.HIHI ─▶ SR:I, if the archive has a history of the field. Otherwise it is an unknown PV of that name.
//
// As in the Appliance, an archived field of a PV counts as archived while its PV is captured.
type named struct {
	pv       string
	isField  bool
	captured bool
	status   capture.Status
}

// stateOfName returns the state of the PV that a name is about. It reads the store only if no group captures a PV of
// this name.
func (h *Handler) stateOfName(ctx context.Context, name string) (n named, err error) {
	n.pv = pvname.Canonical(name)
	if n.status, n.captured, err = h.Channels.Status(ctx, n.pv); n.captured || err != nil {
		if n.captured {
			n.pv = n.status.PV // of an alias
		}
		return n, err
	}
	pv, is, err := field.PV(ctx, h.Reader, n.pv)
	if !is || err != nil {
		return n, err
	}
	n.pv, n.isField = pv, true
	n.status, n.captured, err = h.Channels.Status(ctx, pv)
	return n, err
}

// ofField returns the state of a field of a PV: the connection and the settings of the PV. The type, the metadata and
// the samples of a field are its own.
func ofField(s *capture.Status) capture.Status {
	return capture.Status{
		PV: s.PV, Group: s.Group, Provider: s.Provider, State: s.State, Since: s.Since, Cause: s.Cause, Absent: s.Absent,
		AbsentSince: s.AbsentSince, Silent: s.Silent, Host: s.Host, Engine: s.Engine, Sampling: "Monitor",
		Connects: s.Connects, LostConnections: s.LostConnections,
	}
}
