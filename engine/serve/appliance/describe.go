package appliance

import (
	"context"
	"math"
	"strconv"
	"strings"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
)

// header is a property of a PV: the name of a record's field, and its value.
type header struct{ name, val string }

// describe returns the properties of a PV as known latest: its units and
// precision, and if asked also its limits and the labels of its states.
func (h *Handler) describe(ctx context.Context, name string, all bool) (headers []header, count int, err error) {
	var m *sample.Metadata
	if s, ok, err := h.Channels.Status(ctx, pvname.Canonical(name)); ok && err == nil {
		m = s.Metadata
	}
	if m == nil {
		stored, found, err := h.Reader.Metadata(ctx, name, h.Now().UnixNano())
		if err != nil || !found {
			return nil, 0, err
		}
		m = &stored
	}
	headers = []header{{"EGU", valid(m.Units)}, {"PREC", strconv.Itoa(m.Precision)}}
	if !all {
		return headers, m.Count, nil
	}
	for _, l := range []struct {
		name  string
		limit float64
	}{
		{"LOPR", m.DisplayLow}, {"HOPR", m.DisplayHigh}, {"LOW", m.WarnLow}, {"HIGH", m.WarnHigh},
		{"LOLO", m.AlarmLow}, {"HIHI", m.AlarmHigh}, {"DRVL", m.ControlLow}, {"DRVH", m.ControlHigh},
	} {
		if !math.IsNaN(l.limit) {
			headers = append(headers, header{l.name, string(value.Text.Float(nil, l.limit, 64))})
		}
	}
	for i, label := range m.Labels {
		headers = append(headers, header{"ENUM_" + strconv.Itoa(i), valid(label)})
	}
	return headers, m.Count, nil
}

// valid returns text that all formats can hold: some IOCs send Latin-1.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
