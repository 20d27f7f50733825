package appliance

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"

	"varve.dev/varve/engine/sample"
)

// Wire types of protobuf.
const (
	varint  = 0
	fixed64 = 1
	length  = 2 // bytes, text, messages and packed numbers
	fixed32 = 5
)

// Keys of protobuf fields, from EPICSEvent.proto of the Archiver Appliance.
const (
	infoType    = 1<<3 | varint
	infoPV      = 2<<3 | length
	infoYear    = 3<<3 | varint
	infoCount   = 4<<3 | varint
	infoHeader  = 15<<3 | length
	headerName  = 1<<3 | length
	headerValue = 2<<3 | length

	seconds    = 1<<3 | varint
	nano       = 2<<3 | varint
	valVarint  = 3<<3 | varint
	val64      = 3<<3 | fixed64
	valBytes   = 3<<3 | length
	val32      = 3<<3 | fixed32
	severity   = 4<<3 | varint
	status     = 5<<3 | varint
	repetition = 6<<3 | varint
	fieldValue = 7<<3 | length
	fieldsNew  = 8<<3 | varint // the values of fields have changed
)

// Payload types of scalars, from PayloadType of EPICSEvent.proto. The type of an array is the
// type of its elements plus 7.
const (
	pbString = iota
	pbShort
	pbFloat
	pbEnum
	pbByte
	pbInt
	pbDouble
	pbArrays
	pbStructure = 14
)

// payloadTypes maps Varve's types to payload types. Integers that fit no integer type of the
// Appliance become float64, as in the Appliance's own pvAccess client.
var payloadTypes = [...]byte{
	sample.Bool: pbByte, sample.Int8: pbByte, sample.Uint8: pbByte, sample.Int16: pbShort, sample.Uint16: pbInt,
	sample.Int32: pbInt, sample.Uint32: pbDouble, sample.Int64: pbDouble, sample.Uint64: pbDouble,
	sample.Float32: pbFloat, sample.Float64: pbDouble, sample.Enum: pbEnum, sample.String: pbString, sample.Struct: pbStructure,
}

func payloadType(t sample.Type) byte {
	p := payloadTypes[t.Elem()]
	if t.IsArray() && p != pbStructure {
		p += pbArrays
	}
	return p
}

// appendPayloadInfo appends the message that begins a chunk. The year comes last, because
// clients strip white space from lines, and an encoded count could end with a tab.
func appendPayloadInfo(dst []byte, s *series, t sample.Type, year, count int) []byte {
	dst = append(dst, infoType, payloadType(t))
	dst = appendField(dst, infoPV, s.name)
	dst = binary.AppendUvarint(append(dst, infoCount), uint64(count))
	for _, h := range s.headers {
		if h.val == "" {
			continue
		}
		dst = appendHeader(dst, infoHeader, h)
	}
	return binary.AppendUvarint(append(dst, infoYear), uint64(year))
}

// appendHeader appends a message FieldValue.
func appendHeader(dst []byte, key byte, h header) []byte {
	size := 2 + uvarintLen(len(h.name)) + len(h.name) + uvarintLen(len(h.val)) + len(h.val)
	dst = binary.AppendUvarint(append(dst, key), uint64(size))
	dst = appendField(dst, headerName, h.name)
	return appendField(dst, headerValue, h.val)
}

// appendSample appends the message of sample i. into is its time in ns after the start of
// its year, and fields are the fields that have new values.
func appendSample(dst []byte, r *sample.Run, i int, into int64, fields []header) []byte {
	dst = binary.AppendUvarint(append(dst, seconds), uint64(into/1e9))
	dst = binary.AppendUvarint(append(dst, nano), uint64(into%1e9))
	if r.Type.Fixed() {
		dst = appendScalar(dst, r.Type, r.Words[i])
	} else {
		dst = appendVector(dst, r.Type, r.Value(i))
	}
	if sev := r.Tags[i].Severity(); sev != sample.NoAlarm {
		dst = append(dst, severity, byte(sev))
	}
	if st := r.Tags[i].Status(); st != 0 {
		dst = binary.AppendUvarint(append(dst, status), uint64(st))
	}
	for _, f := range fields {
		dst = appendHeader(dst, fieldValue, f)
	}
	if len(fields) > 0 {
		dst = append(dst, fieldsNew, 1)
	}
	switch dst[len(dst)-1] {
	case ' ', '\t', '\v', '\f':
		// aapy and pyarchappl strip white space from lines before they parse them.
		// End with a field that has its default value.
		dst = append(dst, repetition, 0)
	}
	return dst
}

// appendScalar appends the field val of a Fixed type.
func appendScalar(dst []byte, t sample.Type, w uint64) []byte {
	switch payloadTypes[t] {
	case pbByte:
		return append(dst, valBytes, 1, byte(w))
	case pbShort, pbEnum:
		return appendSint(append(dst, valVarint), w)
	case pbFloat, pbInt:
		return binary.LittleEndian.AppendUint32(append(dst, val32), uint32(w))
	}
	return binary.LittleEndian.AppendUint64(append(dst, val64), math.Float64bits(sample.Float(t, w)))
}

// appendVector appends the field val of any other type: packed numbers, bytes,
// or the field once for each string.
func appendVector(dst []byte, t sample.Type, v []byte) []byte {
	switch t {
	case sample.String:
		return appendField(dst, valBytes, validText(v))
	case sample.String.Array():
		for _, s := range sample.Strings(v) {
			dst = appendField(dst, valBytes, strings.ToValidUTF8(s, "\uFFFD"))
		}
		return dst
	}
	size := t.ElemSize()
	if p := payloadTypes[t.Elem()]; p == pbByte || p == pbStructure || size == 0 {
		return appendField(dst, valBytes, v)
	}
	n := 0
	for k := range len(v) / size {
		n += packedLen(t.Elem(), sample.Word(t, v, k))
	}
	dst = binary.AppendUvarint(append(dst, valBytes), uint64(n))
	for k := range len(v) / size {
		dst = appendPacked(dst, t.Elem(), sample.Word(t, v, k))
	}
	return dst
}

// validText returns valid UTF-8, because protobuf parsers refuse other bytes.
func validText(v []byte) []byte {
	if utf8.Valid(v) {
		return v
	}
	return bytes.ToValidUTF8(v, []byte("\uFFFD"))
}

func appendPacked(dst []byte, t sample.Type, w uint64) []byte {
	switch payloadTypes[t] {
	case pbShort, pbEnum:
		return appendSint(dst, w)
	case pbFloat, pbInt:
		return binary.LittleEndian.AppendUint32(dst, uint32(w))
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(sample.Float(t, w)))
}

func packedLen(t sample.Type, w uint64) int {
	switch payloadTypes[t] {
	case pbShort, pbEnum:
		return uvarintLen(int(zigzag(w)))
	case pbFloat, pbInt:
		return 4
	}
	return 8
}

// zigzag encodes a sign-extended word as a protobuf sint32.
func zigzag(w uint64) uint32 { return uint32(int32(w)<<1) ^ uint32(int32(w)>>31) }

func appendSint(dst []byte, w uint64) []byte { return binary.AppendUvarint(dst, uint64(zigzag(w))) }

func uvarintLen(v int) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

func appendField[S []byte | string](dst []byte, key byte, s S) []byte {
	dst = binary.AppendUvarint(append(dst, key), uint64(len(s)))
	return append(dst, s...)
}

// needsEscapes reports whether a message has a byte that must be escaped. Most messages of scalars
// have none, so it looks at eight bytes at a time.
func needsEscapes(msg []byte) bool {
	for ; len(msg) >= 8; msg = msg[8:] {
		w := binary.LittleEndian.Uint64(msg)
		if hasByte(w, escape) || hasByte(w, '\n') || hasByte(w, '\r') {
			return true
		}
	}
	for _, c := range msg {
		if c == escape || c == '\n' || c == '\r' {
			return true
		}
	}
	return false
}

// hasByte reports whether a byte of w is c. The bytes of x are 0 where those of w are c, and only
// bytes that are 0 keep their highest bit, or follow such a byte.
func hasByte(w uint64, c byte) bool {
	const ones = 0x0101010101010101
	x := w ^ uint64(c)*ones
	return (x-ones)&^x&(ones<<7) != 0
}

// escape begins the two bytes that stand for a line break, or for itself.
const escape = 0x1b

// appendEscaped appends a message with line breaks escaped.
func appendEscaped(dst, msg []byte) []byte {
	for _, c := range msg {
		switch c {
		case escape:
			dst = append(dst, escape, 1)
		case '\n':
			dst = append(dst, escape, 2)
		case '\r':
			dst = append(dst, escape, 3)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
