package appliance

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
)

// header is a property of a PV: the name of a record's field, and its value.
type header struct{ name, val string }

// describe takes the properties of a PV from its metadata, which may be nil: its units
// and precision, and if asked also its limits, the labels of its states and the fields
// that are kept with it. The type is from there if the directory does not know it yet.
func (s *series) describe(m *sample.Metadata, all bool) {
	if m == nil {
		return
	}
	s.headers, s.count = fields(m), m.Count
	if !all {
		s.headers = s.headers[:always]
	}
	if !s.typ.Valid() {
		s.typ = m.Type
	}
}

// latest returns the metadata that a PV has now, or had last; nil if none is known.
func (h *Handler) latest(ctx context.Context, name string) (*sample.Metadata, error) {
	if s, ok, err := h.Channels.Status(ctx, pvname.Canonical(name)); ok && err == nil && s.Metadata != nil {
		return s.Metadata, nil
	}
	m, found, err := h.Reader.Metadata(ctx, name, h.Now().UnixNano())
	if err != nil || !found {
		return nil, err
	}
	return &m, nil
}

// always is how many of the fields come with every answer.
const always = 2

// fields returns what metadata says, by the names of a record's fields.
func fields(m *sample.Metadata) []header {
	headers := []header{{"EGU", valid(m.Units)}, {"PREC", strconv.Itoa(m.Precision)}}
	for _, l := range []struct {
		name  string
		limit float64
	}{
		{"LOPR", m.DisplayLow}, {"HOPR", m.DisplayHigh}, {"LOW", m.WarnLow}, {"HIGH", m.WarnHigh},
		{"LOLO", m.AlarmLow}, {"HIHI", m.AlarmHigh}, {"DRVL", m.ControlLow}, {"DRVH", m.ControlHigh},
	} {
		if !math.IsNaN(l.limit) {
			headers = append(headers, header{l.name, number(l.limit)})
		}
	}
	for i, label := range m.Labels {
		headers = append(headers, header{"ENUM_" + strconv.Itoa(i), valid(label)})
	}
	known := headers
	for _, p := range m.Properties {
		// A limit comes in both ways if its field is kept: as a number is enough.
		if !slices.ContainsFunc(known, func(h header) bool { return h.name == p.Name }) {
			headers = append(headers, header{valid(p.Name), valid(p.Value)})
		}
	}
	return headers
}

func number(v float64) string { return string(value.Text.Float(nil, v, 64)) }

// valid returns text that all formats can hold: some IOCs send Latin-1.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
