package sample

import "fmt"

// Type is the type of a channel's values: an element type, and whether a value
// is an array of it. The numbers are part of the storage formats.
type Type uint8

// Element types. Enum is the index of a state; its labels are Metadata.
const (
	Unknown Type = iota
	Bool
	Int8
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
	Float32
	Float64
	Enum
	String
	// Struct is a pvAccess structure, stored whole in its own encoding.
	Struct

	lastElem = Struct
	arrayBit = 0x80
)

var typeNames = [...]string{
	Unknown: "unknown", Bool: "bool", Int8: "int8", Uint8: "uint8", Int16: "int16", Uint16: "uint16",
	Int32: "int32", Uint32: "uint32", Int64: "int64", Uint64: "uint64", Float32: "float32", Float64: "float64",
	Enum: "enum", String: "string", Struct: "struct",
}

// elemSizes holds the widths in bytes of the elements in an array value. 0 marks types of
// variable size, whose elements carry a length.
var elemSizes = [...]int{
	Bool: 1, Int8: 1, Uint8: 1, Int16: 2, Uint16: 2, Int32: 4, Uint32: 4, Int64: 8, Uint64: 8,
	Float32: 4, Float64: 8, Enum: 2, String: 0, Struct: 0,
}

// Array returns the type of arrays of t.
func (t Type) Array() Type { return t | arrayBit }

// Elem returns the element type, which is t itself for a scalar.
func (t Type) Elem() Type { return t &^ arrayBit }

// IsArray reports whether values of t are arrays.
func (t Type) IsArray() bool { return t&arrayBit != 0 }

// Valid reports whether this version knows t.
func (t Type) Valid() bool { return t.Elem() > Unknown && t.Elem() <= lastElem }

// Fixed reports whether a value of t fits into a 64-bit word. Every scalar does, except
// strings and structures. All other values are bytes.
func (t Type) Fixed() bool { return !t.IsArray() && t.Elem() < String && t != Unknown }

// Numeric reports whether a scalar of t can be read as a number, so that deadbands, block
// minima and rollups apply to it. Enumerations are not numeric.
func (t Type) Numeric() bool { return t.Fixed() && t != Enum }

// ElemSize returns the width in bytes of one array element, or 0 for strings and
// structures.
func (t Type) ElemSize() int {
	if !t.Valid() {
		return 0
	}
	return elemSizes[t.Elem()]
}

// String returns the name that users see, such as "float64" or "int16[]".
func (t Type) String() string {
	if e := t.Elem(); int(e) < len(typeNames) {
		if t.IsArray() {
			return typeNames[e] + "[]"
		}
		return typeNames[e]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}
