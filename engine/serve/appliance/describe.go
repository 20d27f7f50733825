package appliance

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/serve/value"
)

// header is a property of a PV: the name of a field of its record, and the value.
type header struct{ name, val string }

// describe sets the headers of a PV from its metadata, which may be nil. The headers are units
// and precision. If all is set, they are also the limits, the labels of the states, and the
// archived fields. describe also sets the type if the directory does not have it yet.
func (s *series) describe(m *sample.Metadata, all bool) {
	if m == nil {
		return
	}
	s.headers, s.count = recordFields(m), m.Count
	if !all {
		s.headers = s.headers[:always]
	}
	if !s.typ.Valid() {
		s.typ = m.Type
	}
}

// describeLag adds a header if samples are missing at the end of a range.
func (s *series) describeLag() {
	if s.lags {
		s.headers = append(s.headers, header{completeUntil, stream.Until(s.until)})
	}
}

// completeUntil is the name of the header that says up to which time samples are complete.
// Clients ignore headers that they do not know.
const completeUntil = "completeUntil"

// latest returns the latest metadata of a PV, or nil if there is none.
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

// always is the number of fields that every answer includes.
const always = 2

// recordFields returns metadata as fields of a record.
func recordFields(m *sample.Metadata) []header {
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
		// If the field of a limit is archived, both the limits and the properties have it.
		// Only the limit is used.
		if !slices.ContainsFunc(known, func(h header) bool { return h.name == p.Name }) {
			headers = append(headers, header{valid(p.Name), valid(p.Value)})
		}
	}
	return headers
}

func number(v float64) string { return string(value.Text.Float(nil, v, 64)) }

// valid returns the text as valid UTF-8, which all formats need. Some IOCs send Latin-1.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
