package sample

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Sample is one value of a channel. Its type is known from the context: the channel's
// current type, or the Run that holds the sample.
type Sample struct {
	// Time is in nanoseconds since 1970-01-01 UTC.
	Time int64
	Tag  Tag
	// Word holds a Fixed value: IEEE 754 bits for Float64 and (in the low half)
	// Float32, a sign-extended integer for the others.
	Word uint64
	// Bytes holds any other value: the text of a string, or the elements of an
	// array, little-endian. Elements of a string array have a uvarint length.
	Bytes []byte
}

// Float returns the number in a word of type t, which must be Fixed.
func Float(t Type, word uint64) float64 {
	switch t {
	case Float64:
		return math.Float64frombits(word)
	case Float32:
		return float64(math.Float32frombits(uint32(word)))
	case Uint64:
		return float64(word)
	}
	return float64(int64(word))
}

// Same reports whether s and o, of one type, are duplicates.
func (s *Sample) Same(o *Sample) bool {
	return s.Time == o.Time && (s.Tag^o.Tag)&^CarriedForward == 0 && s.Word == o.Word && bytes.Equal(s.Bytes, o.Bytes)
}

// AppendStrings appends the value of a string array.
func AppendStrings(dst []byte, elems ...string) []byte {
	for _, e := range elems {
		dst = binary.AppendUvarint(dst, uint64(len(e)))
		dst = append(dst, e...)
	}
	return dst
}

// Strings returns the elements of a string array's value. It stops at the first
// incomplete element.
func Strings(b []byte) []string {
	var out []string
	for len(b) > 0 {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			break
		}
		out = append(out, string(b[w:w+int(n)]))
		b = b[w+int(n):]
	}
	return out
}

// Word returns element i of an array value of type t in the form of Sample.Word. The
// elements of t must be of fixed width, and i must be in range.
func Word(t Type, b []byte, i int) uint64 {
	switch t.Elem() {
	case Bool, Uint8:
		return uint64(b[i])
	case Int8:
		return uint64(int64(int8(b[i])))
	case Int16:
		return uint64(int64(int16(binary.LittleEndian.Uint16(b[2*i:]))))
	case Uint16, Enum:
		return uint64(binary.LittleEndian.Uint16(b[2*i:]))
	case Int32:
		return uint64(int64(int32(binary.LittleEndian.Uint32(b[4*i:]))))
	case Uint32, Float32:
		return uint64(binary.LittleEndian.Uint32(b[4*i:]))
	case Int64, Uint64, Float64:
		return binary.LittleEndian.Uint64(b[8*i:])
	}
	panic("BUG: Word of an element of variable size")
}
