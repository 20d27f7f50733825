package pva

import (
	"encoding/binary"
	"math"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc/sim"
)

// role determines which data fills a field.
type role uint8

const (
	constant role = iota
	value
	severity
	status
	message
	seconds
	nanoseconds
	userTag // always 0, but sent with every time
)

// roles holds the roles of the fields that updates change. All other fields are constant.
var roles = map[string]role{
	"value": value, "value.index": value,
	"alarm.severity": severity, "alarm.status": status, "alarm.message": message,
	"timeStamp.secondsPastEpoch": seconds, "timeStamp.nanoseconds": nanoseconds, "timeStamp.userTag": userTag,
}

// form is the set of fields of a message.
type form uint8

const (
	plain   form = iota // value and time
	alarmed             // also the alarm, which has changed
	whole               // also all other fields
)

// has reports whether messages of a form have the fields of a role.
func (f form) has(r role) bool {
	switch r {
	case constant:
		return f == whole
	case severity, status, message:
		return f >= alarmed
	}
	return true
}

// leaf is a field that has no members.
type leaf struct {
	number int // number in bit sets
	role   role
	bytes  []byte // value of a constant field
}

// layout describes the structure of the PVs of a kind. It does not change.
type layout struct {
	typ    *proto.Type
	leaves []leaf
	width  int    // size of a value in bytes; 0 for a string or an array
	prefix []byte // start of a value: the number of elements of an array
}

// These types are members of many other types.
var (
	alarmType = proto.NewStruct("alarm_t",
		"severity", proto.Of(proto.Int32), "status", proto.Of(proto.Int32), "message", proto.Of(proto.String))
	timeType = proto.NewStruct("time_t",
		"secondsPastEpoch", proto.Of(proto.Int64), "nanoseconds", proto.Of(proto.Int32), "userTag", proto.Of(proto.Int32))
	enumType = proto.NewStruct("enum_t",
		"index", proto.Of(proto.Int32), "choices", proto.Of(proto.String|proto.Array))
)

// codes has the type code of the elements of each kind.
var codes = [sim.NumKinds]proto.Code{
	sim.Ramp: proto.Float64, sim.Sine: proto.Float64, sim.Noise: proto.Float64, sim.Alarm: proto.Float64,
	sim.Wave: proto.Float64, sim.Long: proto.Int32, sim.Enum: proto.Int32, sim.String: proto.String,
}

// newLayout returns the layout of a kind of PVs.
func newLayout(set *sim.Set, k sim.Kind) *layout {
	l := &layout{typ: typeOf(k), width: codes[k].Width()}
	if k == sim.Wave {
		l.width, l.prefix = 0, proto.AppendSize(nil, set.Elements(k), proto.LittleEndian)
	}
	l.gather(l.typ, "", 0, constants(codes[k], set.Metadata(k)))
	return l
}

// typeOf returns the type of a kind. QSRV has the same types.
func typeOf(k sim.Kind) *proto.Type {
	switch k {
	case sim.Enum:
		return proto.NewStruct("epics:nt/NTEnum:1.0", "value", enumType, "alarm", alarmType, "timeStamp", timeType,
			"display", proto.NewStruct("", "description", proto.Of(proto.String)))
	case sim.String:
		return proto.NewStruct("epics:nt/NTScalar:1.0", "value", proto.Of(proto.String), "alarm", alarmType,
			"timeStamp", timeType, "display", proto.NewStruct("", "description", proto.Of(proto.String), "units", proto.Of(proto.String)))
	case sim.Wave:
		return numeric("epics:nt/NTScalarArray:1.0", codes[k], proto.Array)
	}
	return numeric("epics:nt/NTScalar:1.0", codes[k], 0)
}

// numeric returns the type of PVs with numbers.
func numeric(id string, code, shape proto.Code) *proto.Type {
	number, text, severity := proto.Of(code), proto.Of(proto.String), proto.Of(proto.Int32)
	return proto.NewStruct(id, "value", proto.Of(code|shape), "alarm", alarmType, "timeStamp", timeType,
		"display", proto.NewStruct("", "limitLow", number, "limitHigh", number, "description", text, "units", text,
			"precision", proto.Of(proto.Int32), "form", enumType),
		"control", proto.NewStruct("", "limitLow", number, "limitHigh", number, "minStep", number),
		"valueAlarm", proto.NewStruct("", "active", proto.Of(proto.Bool),
			"lowAlarmLimit", number, "lowWarningLimit", number, "highWarningLimit", number, "highAlarmLimit", number,
			"lowAlarmSeverity", severity, "lowWarningSeverity", severity,
			"highWarningSeverity", severity, "highAlarmSeverity", severity,
			"hysteresis", proto.Of(proto.Float64)))
}

// gather adds the leaves of a type to the layout, depth first.
func (l *layout) gather(t *proto.Type, path string, number int, constants map[string][]byte) {
	for i, m := range t.Members {
		name := t.Names[i]
		if path != "" {
			name = path + "." + name
		}
		_, n := t.Member(t.Names[i])
		n += number
		switch role := roles[name]; {
		case m.Code == proto.Struct:
			l.gather(m, name, n, constants)
		case role != constant:
			l.leaves = append(l.leaves, leaf{number: n, role: role})
		default:
			b, ok := constants[name]
			if !ok {
				b = proto.AppendZero(nil, m)
			}
			l.leaves = append(l.leaves, leaf{number: n, bytes: b})
		}
	}
}

// forms has the choices of display.form. All PVs have the first choice.
var forms = []string{"Default", "String", "Binary", "Decimal", "Hex", "Exponential", "Engineering"}

// constants returns the values of fields that never change and are not 0.
func constants(code proto.Code, m *sample.Metadata) map[string][]byte {
	all := map[string][]byte{
		"value.choices":        appendTexts(nil, m.Labels),
		"display.form.choices": appendTexts(nil, forms),
		"display.units":        proto.AppendString(nil, m.Units, proto.LittleEndian),
		"display.precision":    appendInt(nil, m.Precision),
	}
	if code.Width() == 0 {
		return all
	}
	for name, v := range map[string]float64{
		"display.limitLow": m.DisplayLow, "display.limitHigh": m.DisplayHigh,
		"control.limitLow": m.ControlLow, "control.limitHigh": m.ControlHigh,
		"valueAlarm.lowAlarmLimit": m.AlarmLow, "valueAlarm.lowWarningLimit": m.WarnLow,
		"valueAlarm.highWarningLimit": m.WarnHigh, "valueAlarm.highAlarmLimit": m.AlarmHigh,
	} {
		all[name] = appendNumber(nil, code, v)
	}
	return all
}

func appendTexts(dst []byte, texts []string) []byte {
	dst = proto.AppendSize(dst, len(texts), proto.LittleEndian)
	for _, t := range texts {
		dst = proto.AppendString(dst, t, proto.LittleEndian)
	}
	return dst
}

func appendInt(dst []byte, v int) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(int32(v)))
}

// appendNumber appends a limit. Integers have no NaN, so that a missing limit becomes 0.
func appendNumber(dst []byte, code proto.Code, v float64) []byte {
	if code == proto.Float64 {
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}
	if math.IsNaN(v) {
		v = 0
	}
	return appendInt(dst, int(v))
}
