package pvarchiver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/sample"
)

const (
	// maxValue is the size in bytes of the largest value.
	maxValue = 16 << 20
	// stringSize is the size in bytes of an element of a string array, which ends with a zero byte.
	stringSize = 40
)

// value has the fields of a user-defined type, as Cassandra sends them: numbers are big-endian.
type value struct {
	set              bool
	described        bool   // also has the fields that describe the PV
	value            []byte // nil if it is null
	severity, status []byte
	units, precision []byte
	labels           []string
	limits           [8][]byte // in the order of sample.Metadata.Limits
}

// limits are the fields with limits, in the order of sample.Metadata.Limits.
var limits = [8]string{
	"lower_display_limit", "upper_display_limit", "lower_warning_limit", "upper_warning_limit",
	"lower_alarm_limit", "upper_alarm_limit", "lower_control_limit", "upper_control_limit",
}

// UnmarshalUDT implements gocql.UDTUnmarshaler. It is called for each field, in any order.
func (v *value) UnmarshalUDT(name string, info gocql.TypeInfo, data []byte) error {
	v.set = true
	switch name {
	case "value":
		v.value = bytes.Clone(data) // nil stays nil
	case "alarm_severity":
		v.severity = append(v.severity[:0], data...)
	case "alarm_status":
		v.status = append(v.status[:0], data...)
	default:
		if v.described {
			return v.describe(name, info, data)
		}
	}
	return nil
}

// describe keeps a field that describes the PV.
func (v *value) describe(name string, info gocql.TypeInfo, data []byte) error {
	switch name {
	case "units":
		v.units = bytes.Clone(data)
	case "precision":
		v.precision = bytes.Clone(data)
	case "labels":
		return gocql.Unmarshal(info, data, &v.labels)
	default:
		for i, limit := range limits {
			if name == limit {
				v.limits[i] = bytes.Clone(data)
			}
		}
	}
	return nil
}

// decode returns the sample of a form.
func (v *value) decode(f *form, at int64) (s sample.Sample, err error) {
	s.Time = at
	severity, ok := integer(v.severity)
	if !ok || len(v.severity) != 2 || severity < 0 || severity > int64(sample.Invalid) {
		return s, fmt.Errorf("alarm_severity is %x: want a number from 0 to 3", v.severity)
	}
	status, ok := integer(v.status)
	if !ok || len(v.status) != 2 || status < 0 {
		return s, fmt.Errorf("alarm_status is %x: want a number from 0 on", v.status)
	}
	s.Tag = sample.MakeTag(sample.Severity(severity), uint16(status))
	switch {
	case v.value == nil:
		return s, errors.New("the value is null")
	case len(v.value) > maxValue:
		return s, fmt.Errorf("the value has more than %d MiB", maxValue>>20)
	case f.kind == sample.String:
		s.Bytes = v.value
	case f.kind == sample.String.Array():
		s.Bytes, err = texts(v.value)
	case f.kind.IsArray():
		s.Bytes, err = littleEndian(v.value, f.kind.ElemSize())
	default:
		s.Word, err = word(v.value, f.kind)
	}
	return s, err
}

// word returns a scalar as sample.Sample has it.
func word(b []byte, t sample.Type) (uint64, error) {
	n, ok := integer(b)
	if !ok || len(b) != t.ElemSize() {
		return 0, fmt.Errorf("the value has %d bytes, not the %d of the type %v", len(b), t.ElemSize(), t)
	}
	switch t {
	case sample.Uint8:
		return uint64(uint8(n)), nil
	case sample.Enum:
		return uint64(uint16(n)), nil
	case sample.Float32:
		return uint64(uint32(n)), nil
	}
	return uint64(n), nil
}

// integer returns a big-endian number with a sign.
func integer(b []byte) (int64, bool) {
	switch len(b) {
	case 1:
		return int64(int8(b[0])), true
	case 2:
		return int64(int16(binary.BigEndian.Uint16(b))), true
	case 4:
		return int64(int32(binary.BigEndian.Uint32(b))), true
	case 8:
		return int64(binary.BigEndian.Uint64(b)), true
	}
	return 0, false
}

// littleEndian reverses the bytes of each element.
func littleEndian(b []byte, size int) ([]byte, error) {
	if len(b)%size != 0 {
		return nil, fmt.Errorf("the array has %d bytes, which is not a multiple of %d", len(b), size)
	}
	out := make([]byte, len(b))
	for i := range b {
		out[i-i%size+size-1-i%size] = b[i]
	}
	return out, nil
}

// texts returns the value of a string array.
func texts(b []byte) (out []byte, err error) {
	if len(b)%stringSize != 0 {
		return nil, fmt.Errorf("the array has %d bytes, which is not a multiple of %d", len(b), stringSize)
	}
	for ; len(b) > 0; b = b[stringSize:] {
		text, _, _ := bytes.Cut(b[:stringSize], []byte{0})
		out = binary.AppendUvarint(out, uint64(len(text)))
		out = append(out, text...)
	}
	return out, nil
}

// metadata returns what a sample says about the values of its PV.
func (v *value) metadata(t sample.Type) *sample.Metadata {
	m := &sample.Metadata{Units: string(v.units), Labels: v.labels}
	if p, ok := integer(v.precision); ok && len(v.precision) == 2 {
		m.Precision = int(max(p, 0))
	}
	var l [8]float64
	for i, b := range v.limits {
		l[i] = limit(b, t.Elem())
	}
	m.SetLimits(l)
	return m
}

// limit returns a limit, which has the type of the elements, or NaN if it is null.
func limit(b []byte, t sample.Type) float64 {
	if t == sample.String || t == sample.Enum || len(b) != t.ElemSize() {
		return math.NaN()
	}
	w, err := word(b, t)
	if err != nil {
		return math.NaN()
	}
	return sample.Float(t, w)
}

// place names a row.
func (c *channel) place(bucket, at int64) string {
	return c.name + ", bucket " + strconv.FormatInt(bucket, 10) + ", sample_time " + strconv.FormatInt(at, 10)
}
