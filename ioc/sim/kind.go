package sim

import (
	"fmt"
	"math"
	"strings"

	"varve.dev/varve/engine/sample"
)

// Kind is the behaviour of a simulated PV.
type Kind uint8

// These are the kinds of PVs. PV.Number documents their behaviour.
const (
	Ramp Kind = iota
	Sine
	Noise
	Enum
	Alarm
	Long
	String
	Wave

	// NumKinds is the number of kinds.
	NumKinds = iota
)

// These are the limits of the PVs of kind Alarm.
const (
	alarmHigh = 80 // HIGH, of severity MINOR
	alarmHiHi = 90 // HIHI, of severity MAJOR
)

// trait holds the common properties of the PVs of a kind.
type trait struct {
	name string
	typ  sample.Type
	meta sample.Metadata
}

var traits = [NumKinds]trait{
	Ramp:   {"RAMP", sample.Float64, sample.Metadata{Units: "counts"}},
	Sine:   {"SINE", sample.Float64, sample.Metadata{Units: "mA", Precision: 3, DisplayLow: -10, DisplayHigh: 10}},
	Noise:  {"NOISE", sample.Float64, sample.Metadata{Units: "V", Precision: 4, DisplayHigh: 10}},
	Enum:   {"ENUM", sample.Enum, sample.Metadata{Labels: []string{"Idle", "Busy", "Warn", "Fault"}}},
	Alarm:  {"ALARM", sample.Float64, sample.Metadata{Units: "degC", Precision: 1, DisplayHigh: 100}},
	Long:   {"LONG", sample.Int32, sample.Metadata{Units: "counts"}},
	String: {"STRING", sample.String, sample.Metadata{}},
	Wave:   {"WAVE", sample.Float64.Array(), sample.Metadata{Units: "mA", Precision: 3, DisplayLow: -10, DisplayHigh: 10}},
}

// metadata returns the metadata of the PVs of a kind.
func (k Kind) metadata(elements int) sample.Metadata {
	m := traits[k].meta
	m.Type, m.Count = traits[k].typ, 1
	if m.Type.IsArray() {
		m.Count = elements
	}
	m.WarnLow, m.WarnHigh, m.AlarmLow, m.AlarmHigh = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	if k == Alarm {
		m.WarnHigh, m.AlarmHigh = alarmHigh, alarmHiHi
	}
	return m
}

// Kinds returns all kinds.
func Kinds() []Kind {
	out := make([]Kind, NumKinds)
	for k := range out {
		out[k] = Kind(k)
	}
	return out
}

// ParseKind returns the kind with a name. The case of the name does not matter.
func ParseKind(name string) (Kind, error) {
	var known []string
	for k, t := range traits {
		if strings.EqualFold(name, t.name) {
			return Kind(k), nil
		}
		known = append(known, strings.ToLower(t.name))
	}
	return 0, fmt.Errorf("unknown kind of PV %q: want one of %s", name, strings.Join(known, ", "))
}

// String returns the name of the kind as it is used in the names of PVs.
func (k Kind) String() string { return traits[k].name }

// Type returns the type of the values of the kind.
func (k Kind) Type() sample.Type { return traits[k].typ }
