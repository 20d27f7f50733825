package ioc

import (
	"fmt"
	"math"
	"strings"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
)

// Kind is what a simulated PV does.
type Kind uint8

// Kinds of PVs. Value says what each does.
const (
	Ramp Kind = iota
	Sine
	Noise
	Enum
	Alarm
	Long
	String

	numKinds = iota
)

// Limits of the PVs of kind Alarm.
const (
	alarmHigh = 80 // HIGH, of severity MINOR
	alarmHiHi = 90 // HIHI, of severity MAJOR
)

// trait is what the PVs of a kind have in common.
type trait struct {
	name   string
	native proto.DBR
	meta   sample.Metadata
}

var traits = [numKinds]trait{
	Ramp:   {"RAMP", proto.Double, sample.Metadata{Units: "counts"}},
	Sine:   {"SINE", proto.Double, sample.Metadata{Units: "mA", Precision: 3, DisplayLow: -10, DisplayHigh: 10}},
	Noise:  {"NOISE", proto.Double, sample.Metadata{Units: "V", Precision: 4, DisplayHigh: 10}},
	Enum:   {"ENUM", proto.Enum, sample.Metadata{Labels: []string{"Idle", "Busy", "Warn", "Fault"}}},
	Alarm:  {"ALARM", proto.Double, sample.Metadata{Units: "degC", Precision: 1, DisplayHigh: 100}},
	Long:   {"LONG", proto.Long, sample.Metadata{Units: "counts"}},
	String: {"STRING", proto.String, sample.Metadata{}},
}

// metadata holds Metadata of all kinds.
var metadata = func() (all [numKinds]sample.Metadata) {
	for k, t := range traits {
		m := t.meta
		m.Type, m.Count = t.native.SampleType(false), 1
		m.WarnLow, m.WarnHigh, m.AlarmLow, m.AlarmHigh = math.NaN(), math.NaN(), math.NaN(), math.NaN()
		if Kind(k) == Alarm {
			m.WarnHigh, m.AlarmHigh = alarmHigh, alarmHiHi
		}
		all[k] = m
	}
	return all
}()

// Kinds returns all kinds.
func Kinds() []Kind {
	out := make([]Kind, numKinds)
	for k := range out {
		out[k] = Kind(k)
	}
	return out
}

// ParseKind returns the kind of a name, in any case.
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

// String returns the name of the kind, as it stands in names of PVs.
func (k Kind) String() string { return traits[k].name }

// Type returns the type of the values of the kind.
func (k Kind) Type() sample.Type { return metadata[k].Type }

// Metadata returns what the PVs of the kind tell about their values. Its Labels
// are shared: do not change them.
func (k Kind) Metadata() sample.Metadata { return metadata[k] }
