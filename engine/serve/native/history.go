package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/table"
	"varve.dev/varve/engine/serve/value"
	"varve.dev/varve/engine/store"
)

// entry is the metadata of a PV from a time on.
type entry struct {
	Since string `json:"since"`
	Type  string `json:"type,omitempty"`
	Count int    `json:"count,omitempty"`
	Host  string `json:"host,omitempty"`
	*metadata
}

func newEntry(m *store.PVMetadata) entry {
	e := entry{Since: clock(m.Time), Count: m.Count, Host: m.Host, metadata: newMetadata(&m.Metadata)}
	if m.Type.Valid() {
		e.Type = m.Type.String()
	}
	return e
}

// moments parses the times of a request for metadata: the parameters from and to, or at,
// whose default is now.
func moments(q *openapi.Query) (from, to int64, err error) {
	if !q.Has("from") && !q.Has("to") {
		from, err = q.Time("at")
		return from, from, err
	}
	if q.Has("at") {
		return 0, 0, errors.New("parameter at: it cannot be combined with from and to")
	}
	return q.Range()
}

// metadata answers the metadata of a PV at a time, or over a range:
//
//	{"pv":…, "history":[{"since":…, "type":…, "count":…, "host":…, "units":…, …}, …]}
//
// The first entry is the one that is valid at the start of the range. The field missing follows if
// properties have no value now: "missing":[{"name":…,"cause":…}, …]
//
// For several PVs, or a group, the answer is {"pvs":[…]}.
func (h *Handler) metadata(ctx context.Context, q *openapi.Query) (reading, error) {
	from, to, err := moments(q)
	if err != nil {
		return reading{}, badRequest{err}
	}
	pvs, err := h.selected(ctx, q)
	return reading{table.JSON, func(ctx context.Context, b *body) error {
		if err := h.checkKnown(ctx, pvs); err != nil {
			return err
		}
		return b.each(pvs, len(q.All("pv")) > 1 || q.Has("group"), func(_ int, pv string) error {
			return h.writeHistory(ctx, b, pv, from, to)
		})
	}}, err
}

// checkKnown returns an error if a PV was never captured.
func (h *Handler) checkKnown(ctx context.Context, pvs []string) error {
	return query.InOrder(ctx, pvs, h.Reader.Known, func(pv string, known bool) error {
		if !known {
			return fmt.Errorf("reading %s: %w", pv, query.ErrUnknownPV)
		}
		return nil
	})
}

// writeHistory writes the metadata of a PV, except for the closing brace.
func (h *Handler) writeHistory(ctx context.Context, b *body, pv string, from, to int64) error {
	b.Buf = append(value.AppendString(append(b.Buf, `{"pv":`...), pv), `,"history":[`...)
	n := 0
	for m, err := range h.Reader.MetadataHistory(ctx, pv, from, to) {
		if err == nil {
			err = b.entry(&m, n == 0)
			n++
		}
		if err != nil {
			return err
		}
	}
	b.Buf = append(b.Buf, ']')
	h.writeMissing(ctx, b, pv)
	return nil
}

// writeMissing writes the properties of a PV that have no value now, and why. The history comes
// from the store, so an engine that does not answer is no reason to withhold it.
func (h *Handler) writeMissing(ctx context.Context, b *body, pv string) {
	s, _, err := h.Channels.Status(ctx, pvname.Canonical(pv))
	if err != nil || len(s.Missing) == 0 {
		return
	}
	text, err := json.Marshal(s.Missing)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	b.Buf = append(append(b.Buf, `,"missing":`...), text...)
}

func (b *body) entry(m *store.PVMetadata, first bool) error {
	text, err := json.Marshal(newEntry(m))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if !first {
		b.Buf = append(b.Buf, ',')
	}
	b.Buf = append(append(b.Buf, '\n'), text...)
	return b.FlushFull()
}
