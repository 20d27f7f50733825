package sample

import (
	"math"
	"slices"
)

// Metadata is what a channel reports about its values. A limit that the channel does not
// have is NaN.
type Metadata struct {
	Units                   string
	Precision               int
	DisplayLow, DisplayHigh float64
	WarnLow, WarnHigh       float64
	AlarmLow, AlarmHigh     float64
	ControlLow, ControlHigh float64
	Labels                  []string // states of an enumeration
	Type                    Type
	Count                   int    // elements; 1 for a scalar
	Host                    string // address of the IOC
	// Properties are fields of the record that are kept with the metadata, sorted by name.
	Properties []Property
}

// Property is a field of a record, such as DESC, with its value as text.
type Property struct{ Name, Value string }

// Limits returns the limits in the order in which they are stored: display, warning, alarm and
// control limits, each with the low limit first.
func (m *Metadata) Limits() [8]float64 {
	return [8]float64{
		m.DisplayLow, m.DisplayHigh, m.WarnLow, m.WarnHigh, m.AlarmLow, m.AlarmHigh, m.ControlLow, m.ControlHigh,
	}
}

// SetLimits sets the limits, in the order of Limits.
func (m *Metadata) SetLimits(l [8]float64) {
	m.DisplayLow, m.DisplayHigh, m.WarnLow, m.WarnHigh = l[0], l[1], l[2], l[3]
	m.AlarmLow, m.AlarmHigh, m.ControlLow, m.ControlHigh = l[4], l[5], l[6], l[7]
}

// Equal reports whether m and o describe the values in the same way; the host may differ.
func (m *Metadata) Equal(o *Metadata) bool {
	a, b := m.Limits(), o.Limits()
	return m.Units == o.Units && m.Precision == o.Precision && m.Type == o.Type && m.Count == o.Count &&
		slices.Equal(m.Labels, o.Labels) && slices.Equal(m.Properties, o.Properties) &&
		slices.EqualFunc(a[:], b[:], func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })
}
