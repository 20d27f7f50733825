package sim

import (
	"encoding/binary"
	"math"
	"strconv"

	"varve.dev/varve/engine/sample"
)

// These are alarm statuses with the numbers of EPICS base (alarm.h).
const (
	statusHiHi  = 3
	statusHigh  = 4
	statusState = 7
)

// These are the lengths of patterns in ticks.
const (
	sinePeriod  = 100
	alarmPeriod = 200
	enumHold    = 8 // duration of a state
)

// PV is a simulated PV.
type PV struct {
	Kind  Kind
	Index int32
}

// Number returns the value and the alarm of a PV of any kind but String and Wave at a tick.
// PVs of kind Enum keep a state for 8 ticks. All other PVs change with every tick.
//
//	Ramp    tick + index
//	Sine    10 mA × sin, a cycle in 100 ticks, the index shifts its phase
//	Noise   readings of a 12-bit ADC of 10 V around a level that depends on the index, 4 decimals
//	Enum    Idle, Busy, Warn (MINOR), Fault (MAJOR), 8 ticks each
//	Alarm   a triangle from 100 to 0 and back in 200 ticks: HIGH from 80, HIHI from 90
//	Long    tick + index in 32 bits, which wrap
//	String  "value N" with N = tick + index
//	Wave    the values of Sine at this tick and the following ticks
func (p PV) Number(tick int64) (word uint64, tag sample.Tag) {
	n := tick + int64(p.Index)
	switch p.Kind {
	case Ramp:
		return math.Float64bits(float64(n)), 0
	case Sine:
		return math.Float64bits(sines[n%sinePeriod]), 0
	case Noise:
		return math.Float64bits(noise(int(p.Index), tick)), 0
	case Alarm:
		v := float64(max(n%alarmPeriod, alarmPeriod-n%alarmPeriod) - alarmPeriod/2)
		return math.Float64bits(v), levelAlarm(v)
	case Long:
		return uint64(int64(int32(n))), 0
	case Enum:
		state := (tick/enumHold + int64(p.Index)) % 4
		return uint64(state), stateAlarm(state)
	}
	panic("BUG: a number of kind " + p.Kind.String())
}

// AlarmAt returns the alarm at a tick.
func (p PV) AlarmAt(tick int64) sample.Tag {
	if p.Kind != Alarm && p.Kind != Enum {
		return 0
	}
	_, tag := p.Number(tick)
	return tag
}

// AppendText appends the value of a PV of kind String at a tick.
func (p PV) AppendText(dst []byte, tick int64) []byte {
	return strconv.AppendInt(append(dst, "value "...), tick+int64(p.Index), 10)
}

// AppendWave appends the value of a PV of kind Wave at a tick: the given number of elements,
// little-endian.
func (p PV) AppendWave(dst []byte, tick int64, elements int) []byte {
	const width = 8
	from := int((tick + int64(p.Index)) % sinePeriod)
	for elements > 0 {
		n := min(elements, sinePeriod-from)
		dst = append(dst, waves[from*width:(from+n)*width]...)
		elements, from = elements-n, 0
	}
	return dst
}

// sines is one cycle of Sine. waves holds the same numbers as little-endian bytes.
var sines, waves = func() (s [sinePeriod]float64, b []byte) {
	for i := range s {
		s[i] = 10 * math.Sin(2*math.Pi/sinePeriod*float64(i))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(s[i]))
	}
	return s, b
}()

func levelAlarm(v float64) sample.Tag {
	switch {
	case v >= alarmHiHi:
		return sample.MakeTag(sample.Major, statusHiHi)
	case v >= alarmHigh:
		return sample.MakeTag(sample.Minor, statusHigh)
	}
	return 0
}

func stateAlarm(state int64) sample.Tag {
	switch state {
	case 2:
		return sample.MakeTag(sample.Minor, statusState)
	case 3:
		return sample.MakeTag(sample.Major, statusState)
	}
	return 0
}

// noise returns a reading of an ADC with 12 bits and 10 V. The readings have an approximately
// normal distribution with a deviation of 9 codes, around a level that depends on the index.
func noise(index int, tick int64) float64 {
	level := int64(1024 + mix(uint64(index))%2048)
	h := mix(uint64(tick)*0x9e3779b97f4a7c15 ^ uint64(index)<<32)
	spread := int64(h&15+h>>4&15+h>>8&15+h>>12&15) - 30
	return math.Round(float64(level+spread)*(1e5/4096)) / 1e4
}

// mix is the finalizer of SplitMix64. Every bit of x changes about half of the bits of the
// result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
