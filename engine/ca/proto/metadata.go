package proto

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"varve.dev/varve/engine/sample"
)

// limits returns the limits in their order in GR and CTRL values, as in db_access.h. Only CTRL
// values have the last two.
func limits(m *sample.Metadata) [8]*float64 {
	return [8]*float64{
		&m.DisplayHigh, &m.DisplayLow, &m.AlarmHigh, &m.WarnHigh, &m.WarnLow, &m.AlarmLow,
		&m.ControlHigh, &m.ControlLow,
	}
}

// DecodeMetadata decodes the metadata in a payload in GR or CTRL form into m: units,
// precision, limits and labels. A missing limit is NaN. The caller must set Type, Count and
// Host. m does not share the memory of payload.
func DecodeMetadata(m *sample.Metadata, t DBR, payload []byte) error {
	form, native := t.Form(), t.Native()
	if form != GR && form != CTRL {
		return fmt.Errorf("decoding %v as a CTRL type", t)
	}
	if len(payload) < t.ValueOffset() {
		return ErrTruncated
	}
	for _, p := range limits(m) {
		*p = math.NaN()
	}
	m.Units, m.Precision, m.Labels = "", 0, nil
	switch native {
	case String: // a string has only an alarm
	case Enum:
		m.Labels = decodeLabels(payload[4:])
	default:
		decodeNumeric(m, form, native, payload[4:])
	}
	return nil
}

// decodeNumeric decodes units and limits from b, which begins after the alarm.
func decodeNumeric(m *sample.Metadata, form, native DBR, b []byte) {
	if native == Float || native == Double {
		m.Precision = int(int16(binary.BigEndian.Uint16(b)))
		b = b[4:]
	}
	m.Units = latin(Text(b[:UnitsSize]))
	b = b[UnitsSize:]
	size := native.ElemSize()
	for i, p := range limits(m) {
		if i == 6 && form == GR {
			return
		}
		*p = decodeNumber(native, b[i*size:])
	}
}

func decodeNumber(native DBR, b []byte) float64 {
	switch native {
	case Double:
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	case Float:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	case Long:
		return float64(int32(binary.BigEndian.Uint32(b)))
	case Short:
		return float64(int16(binary.BigEndian.Uint16(b)))
	}
	return float64(b[0])
}

// decodeLabels decodes the states of an enumeration: their number, and then space for 16
// names. It limits the number to this range.
func decodeLabels(b []byte) []string {
	n := min(max(int(int16(binary.BigEndian.Uint16(b))), 0), MaxLabels)
	labels := make([]string, n)
	for i := range labels {
		from := 2 + i*LabelSize
		labels[i] = latin(Text(b[from : from+LabelSize]))
	}
	return labels
}

// latin returns text as UTF-8. Channel Access does not define the encoding of text. latin
// treats text that is not UTF-8 as Latin-1, because older IOCs use it for units such as °C or
// µA.
func latin(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	r := make([]rune, len(b))
	for i, c := range b {
		r[i] = rune(c)
	}
	return string(r)
}
