package proto

import (
	"errors"
	"fmt"
	"strings"
)

// Code is the kind of a field: an element and a shape.
type Code uint8

// Elements. The integers are numbered by width, the unsigned ones from UInt8.
const (
	Bool          Code = 0x00
	Int8          Code = 0x20
	Int16         Code = 0x21
	Int32         Code = 0x22
	Int64         Code = 0x23
	UInt8         Code = 0x24
	UInt16        Code = 0x25
	UInt32        Code = 0x26
	UInt64        Code = 0x27
	Float32       Code = 0x42
	Float64       Code = 0x43
	String        Code = 0x60
	Struct        Code = 0x80
	Union         Code = 0x81
	Any           Code = 0x82 // variant union
	BoundedString Code = 0x83

	// Null is no type: that of an empty Any.
	Null Code = 0xff

	typeFull = 0xfd // a number and a type to remember under it
	typeID   = 0xfe // a number to recall a type by
)

// Shapes, to be or'ed to an element.
const (
	Array        Code = 0x08 // of any length
	BoundedArray Code = 0x10 // of Type.Bound elements at most
	FixedArray   Code = 0x18 // of Type.Bound elements

	shapeBits = 0x18
)

// Elem returns the element without the shape.
func (c Code) Elem() Code { return c &^ shapeBits }

// Shape returns 0 for a scalar, or the kind of array.
func (c Code) Shape() Code { return c & shapeBits }

var codeNames = map[Code]string{
	Bool: "boolean", Int8: "byte", Int16: "short", Int32: "int", Int64: "long", UInt8: "ubyte", UInt16: "ushort",
	UInt32: "uint", UInt64: "ulong", Float32: "float", Float64: "double", String: "string", Struct: "structure",
	Union: "union", Any: "any", BoundedString: "string",
}

// String returns the name that pvAccess tools print.
func (c Code) String() string {
	name, ok := codeNames[c.Elem()]
	switch {
	case c == Null:
		return "null"
	case !ok:
		return fmt.Sprintf("type(0x%02x)", uint8(c))
	case c.Shape() != 0:
		return name + "[]"
	}
	return name
}

var widths = map[Code]int{
	Bool: 1, Int8: 1, Int16: 2, Int32: 4, Int64: 8, UInt8: 1, UInt16: 2, UInt32: 4, UInt64: 8, Float32: 4, Float64: 8,
}

// Width returns the bytes of an element of fixed width, 0 for the others.
func (c Code) Width() int { return int(elemWidth[c.Elem()]) }

var elemWidth = func() (t [256]uint8) {
	for c, w := range widths {
		t[c] = uint8(w)
	}
	return t
}()

// Type describes values. Types are shared and never changed once made.
type Type struct {
	Code Code
	// ID names a structure or union, such as epics:nt/NTScalar:1.0.
	ID string
	// Bound is of a bounded string, or a bounded or fixed array.
	Bound int
	// Names are of the members of a structure or union, and Members their types. An
	// array of structures or unions has one member, its element, without a name.
	Names   []string
	Members []*Type

	// fields is how many numbers the type takes in a BitSet: 1, and for a structure
	// those of its members. depth is that of the tree, room the elements of fixed
	// arrays in it. size is the memory of the tree, each member counted as often as it
	// stands there: more than the bytes of AppendType.
	fields, depth, room, size int
}

// Limits of a type. Real ones have some hundred fields of 50 bytes, nested four
// deep; a group of a thousand records has some 2 MiB.
const (
	maxTypeSize = 4 << 20
	maxDepth    = 16
	maxRoom     = 1 << 16

	nodeSize   = 128 // of a Type
	memberSize = 24  // of its entries in Names and Members
)

var errTooComplex = errors.New("the type is too large, or nests too deep")

// measure sets what is known of the whole tree from the members.
func (t *Type) measure() error {
	t.fields, t.depth, t.room = 1, 1, 0
	t.size = nodeSize + len(t.ID) + memberSize*len(t.Members)
	if t.Code.Shape() == FixedArray {
		t.room = t.Bound
	}
	for _, name := range t.Names {
		t.size += len(name)
	}
	for _, m := range t.Members {
		t.depth = max(t.depth, m.depth+1)
		t.size += m.size
		if t.Code == Struct {
			t.fields += m.fields
			t.room += m.room
		}
		if t.size > maxTypeSize || t.depth > maxDepth || t.room > maxRoom {
			return errTooComplex // before a sum overflows
		}
	}
	if t.size > maxTypeSize || t.room > maxRoom {
		return errTooComplex
	}
	return nil
}

// Fields returns how many numbers the type takes in a BitSet.
func (t *Type) Fields() int { return t.fields }

// Member returns a member of a structure or union by its name and, of a structure,
// its number in a BitSet, counted from that of t. It is nil if there is none.
func (t *Type) Member(name string) (m *Type, number int) {
	number = 1
	for i, n := range t.Names {
		if n == name {
			return t.Members[i], number
		}
		number += t.Members[i].fields
	}
	return nil, 0
}

// Find returns the field at a path such as alarm.severity, and its number.
func (t *Type) Find(path string) (f *Type, number int) {
	f = t
	for name := range strings.SplitSeq(path, ".") {
		if f.Code != Struct {
			return nil, 0
		}
		m, n := f.Member(name)
		if m == nil {
			return nil, 0
		}
		f, number = m, number+n
	}
	return f, number
}

// Equal reports whether t and o describe the same values.
func (t *Type) Equal(o *Type) bool {
	if t == o {
		return true
	}
	if t == nil || o == nil || t.Code != o.Code || t.ID != o.ID || t.Bound != o.Bound || len(t.Members) != len(o.Members) {
		return false
	}
	for i := range t.Members {
		if t.Names != nil && t.Names[i] != o.Names[i] || !t.Members[i].Equal(o.Members[i]) {
			return false
		}
	}
	return true
}

// AppendType appends a type written out, without numbers of a cache. nil is the
// null type.
func AppendType(dst []byte, t *Type, o Order) []byte {
	if t == nil {
		return append(dst, byte(Null))
	}
	dst = append(dst, byte(t.Code))
	switch {
	case t.Code == BoundedString, t.Code.Shape() > Array:
		return AppendSize(dst, t.Bound, o)
	case t.Code == Struct|Array, t.Code == Union|Array:
		return AppendType(dst, t.Members[0], o)
	case t.Code == Struct, t.Code == Union:
		dst = AppendString(dst, t.ID, o)
		dst = AppendSize(dst, len(t.Members), o)
		for i, m := range t.Members {
			dst = AppendString(dst, t.Names[i], o)
			dst = AppendType(dst, m, o)
		}
	}
	return dst
}

// AppendNumberedType appends a type with a number that the receiver is to remember it
// under, if it said that it can remember so many.
func AppendNumberedType(dst []byte, id uint16, t *Type, o Order) []byte {
	return AppendType(o.AppendUint16(append(dst, typeFull), id), t, o)
}

// AppendTypeNumber appends the number of a type instead of it.
func AppendTypeNumber(dst []byte, id uint16, o Order) []byte {
	return o.AppendUint16(append(dst, typeID), id)
}
