package proto

import (
	"encoding/binary"
	"math"

	"varve.dev/varve/engine/sample"
)

// AppendValue appends the payload of s as type t, padded to a multiple of 8 bytes. t must be
// valid and may have any form. s must have the sample type of t's native type: AppendValue
// uses s.Bytes for arrays and strings, and s.Word for other scalars. m is the metadata that
// the forms GR and CTRL add, or nil. Elements returns the number of elements of the payload.
func AppendValue(dst []byte, t DBR, array bool, s *sample.Sample, m *sample.Metadata) []byte {
	start := len(dst)
	native, form := t.Native(), t.Form()
	if form != Plain {
		dst = binary.BigEndian.AppendUint16(dst, s.Tag.Status())
		dst = binary.BigEndian.AppendUint16(dst, uint16(s.Tag.Severity()))
	}
	switch {
	case form == TIME:
		secs, nanos := EpicsTime(s.Time)
		dst = binary.BigEndian.AppendUint32(dst, secs)
		dst = binary.BigEndian.AppendUint32(dst, nanos)
	case form >= GR && m != nil:
		dst = appendMetadata(dst, form, native, m)
	}
	dst = appendZeros(dst, t.ValueOffset()-(len(dst)-start))
	if array {
		dst = appendArray(dst, native, s.Bytes)
	} else {
		dst = appendScalar(dst, native, s)
	}
	size := len(dst) - start
	return appendZeros(dst, Padded(size)-size)
}

// Elements returns the number of elements of a value, for the header of its message.
func Elements(t DBR, array bool, s *sample.Sample) uint32 {
	switch {
	case !array:
		return 1
	case t.Native() == String:
		return uint32(len(sample.Strings(s.Bytes)))
	}
	return uint32(len(s.Bytes) / t.ElemSize())
}

func appendScalar(dst []byte, native DBR, s *sample.Sample) []byte {
	switch native {
	case Double:
		return binary.BigEndian.AppendUint64(dst, s.Word)
	case Float, Long:
		return binary.BigEndian.AppendUint32(dst, uint32(s.Word))
	case Short, Enum:
		return binary.BigEndian.AppendUint16(dst, uint16(s.Word))
	case Char:
		return append(dst, byte(s.Word))
	}
	return appendFixed(dst, string(s.Bytes), StringSize)
}

func appendArray(dst []byte, native DBR, value []byte) []byte {
	switch {
	case native == Char:
		return append(dst, value...)
	case native == String:
		for _, text := range sample.Strings(value) {
			dst = appendFixed(dst, text, StringSize)
		}
		return dst
	}
	switch size := native.ElemSize(); size {
	case 2:
		for ; len(value) >= 2; value = value[2:] {
			dst = binary.BigEndian.AppendUint16(dst, binary.LittleEndian.Uint16(value))
		}
	case 4:
		for ; len(value) >= 4; value = value[4:] {
			dst = binary.BigEndian.AppendUint32(dst, binary.LittleEndian.Uint32(value))
		}
	case 8:
		for ; len(value) >= 8; value = value[8:] {
			dst = binary.BigEndian.AppendUint64(dst, binary.LittleEndian.Uint64(value))
		}
	}
	return dst
}

func appendMetadata(dst []byte, form, native DBR, m *sample.Metadata) []byte {
	switch native {
	case String:
		return dst
	case Enum:
		return appendLabels(dst, m.Labels)
	case Float, Double:
		dst = binary.BigEndian.AppendUint16(dst, uint16(int16(m.Precision)))
		dst = append(dst, 0, 0)
	}
	dst = appendFixed(dst, m.Units, UnitsSize)
	for i, p := range limits(m) {
		if i == 6 && form == GR {
			break
		}
		dst = appendNumber(dst, native, *p)
	}
	return dst
}

// appendNumber appends a limit. Integers have no NaN, so that a missing limit becomes 0, as in
// EPICS base.
func appendNumber(dst []byte, native DBR, v float64) []byte {
	switch native {
	case Double:
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(v))
	case Float:
		return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(v)))
	}
	if math.IsNaN(v) {
		v = 0
	}
	switch native {
	case Long:
		return binary.BigEndian.AppendUint32(dst, uint32(int32(min(max(v, math.MinInt32), math.MaxInt32))))
	case Short:
		return binary.BigEndian.AppendUint16(dst, uint16(int16(min(max(v, math.MinInt16), math.MaxInt16))))
	}
	return append(dst, byte(min(max(v, 0), math.MaxUint8)))
}

func appendLabels(dst []byte, labels []string) []byte {
	labels = labels[:min(len(labels), MaxLabels)]
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(labels)))
	for _, l := range labels {
		dst = appendFixed(dst, l, LabelSize)
	}
	return dst // AppendValue fills the space of missing limits
}

// appendFixed appends text in a field of size bytes. It cuts the text if no NUL would fit
// after it.
func appendFixed(dst []byte, text string, size int) []byte {
	text = text[:min(len(text), size-1)]
	return appendZeros(append(dst, text...), size-len(text))
}
