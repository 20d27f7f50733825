package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/table"
	"varve.dev/varve/engine/serve/value"
)

// unknownPV is the cause of no data of a PV that was never captured.
const unknownPV = "unknown_pv"

// moment is what is known about a PV at a time.
type moment struct {
	query.Last
	meta  sample.Metadata
	known bool // meta is valid
	cause *noData
}

// snapshot answers the last sample of each PV at or before a time, with its metadata:
//
//	{"at":…, "pvs":[{"pv":…, "type":…, "time":…, "value":…, "label":…, "severity":…, "status":…,
//	                 "metadata":{…}},
//	                {"pv":…, "noData":{…}}]}
//
// It reads several PVs at a time, and holds only their samples. A PV that was never captured has the
// cause unknown_pv. The other formats have a table with a row for each PV.
func (h *Handler) snapshot(ctx context.Context, q *openapi.Query) (reading, error) {
	format := table.Format(q.Get("format"))
	at, err := q.Time("at")
	if err != nil {
		return reading{}, badRequest{err}
	}
	pvs, err := h.selected(ctx, q)
	return reading{format, func(ctx context.Context, b *body) error {
		if format == table.JSON {
			return h.writeSnapshot(ctx, b, pvs, at)
		}
		return h.writeSnapshotTable(ctx, b, format, pvs, at)
	}}, err
}

func (h *Handler) writeSnapshot(ctx context.Context, b *body, pvs []string, at int64) error {
	b.Buf = append(append(append(b.Buf, `{"at":"`...), clock(at)...), `","pvs":[`...)
	separator := ""
	err := h.eachMoment(ctx, b, pvs, at, func(pv string, m *moment) error {
		b.Buf = append(b.Buf, separator...)
		separator = ","
		b.moment(pv, m)
		return b.FlushFull()
	})
	b.Buf = append(b.Buf, "]}\n"...)
	return err
}

// eachMoment reads what is known about PVs at a time. It notes which samples are missing.
func (h *Handler) eachMoment(ctx context.Context, b *body, pvs []string, at int64, use func(pv string, m *moment) error) error {
	lost := uint64(0)
	err := query.InOrder(ctx, pvs, func(ctx context.Context, pv string) (moment, error) {
		return h.moment(ctx, pv, at)
	}, func(pv string, m moment) error {
		if m.CompleteUntil < at {
			b.SetCompleteUntil(m.CompleteUntil)
		}
		lost += m.Lost
		return use(pv, &m)
	})
	b.SetLost(lost)
	return err
}

// moment reads what is known about a PV at a time.
func (h *Handler) moment(ctx context.Context, pv string, at int64) (m moment, err error) {
	m.Last, err = h.Reader.LastAt(ctx, pv, at)
	if errors.Is(err, query.ErrUnknownPV) {
		return moment{Last: query.Last{CompleteUntil: query.Latest}, cause: &noData{Cause: unknownPV, Text: "the archive has never captured this PV"}}, nil
	}
	if err != nil {
		return m, fmt.Errorf("reading %s: %w", pv, err)
	}
	if m.Run == nil {
		m.cause, err = h.noData(ctx, pv, at, true, 0)
		return m, err
	}
	if m.meta, m.known, err = h.Reader.Metadata(ctx, pv, at); err != nil {
		return m, fmt.Errorf("reading the metadata of %s: %w", pv, err)
	}
	return m, nil
}

// moment writes what is known about a PV.
func (b *body) moment(pv string, m *moment) {
	b.Buf = value.AppendString(append(b.Buf, "\n{\"pv\":"...), pv)
	if m.Run != nil {
		tag := m.Run.Tags[0]
		b.Buf = fmt.Appendf(b.Buf, `,"type":"%s","time":"%s","value":`, m.Run.Type, clock(m.Run.Times[0]))
		b.Buf = value.Quoted.Append(b.Buf, m.Run, 0)
		if label, ok := m.label(); ok {
			b.Buf = value.AppendString(append(b.Buf, `,"label":`...), label)
		}
		b.Buf = fmt.Appendf(b.Buf, `,"severity":"%s","status":"%s"`, tag.Severity(), tag.StatusName())
	}
	if m.known {
		text, err := json.Marshal(newMetadata(&m.meta))
		if err != nil {
			panic("BUG: " + err.Error())
		}
		b.Buf = append(append(b.Buf, `,"metadata":`...), text...)
	}
	if m.Lost > 0 {
		b.Buf = fmt.Appendf(b.Buf, `,"lost":%d`, m.Lost)
	}
	b.noData(m.cause)
	b.Buf = append(b.Buf, '}')
}

// label returns the name of the state of an enumeration.
func (m *moment) label() (string, bool) {
	if m.Run.Type != sample.Enum || m.Run.Words[0] >= uint64(len(m.meta.Labels)) {
		return "", false
	}
	return m.meta.Labels[m.Run.Words[0]], true
}
