package proto

import (
	"errors"
	"fmt"
	"strings"
)

// Code is the type code of a field. It consists of an element and a shape.
type Code uint8

// These are the elements. Signed and unsigned integers are in the order of their widths.
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

	// Null is the code of a missing type, in an Any without a value.
	Null Code = 0xff

	typeFull = 0xfd // a number follows, and then a type to remember under the number
	typeID   = 0xfe // the number of a remembered type follows
)

// These are the shapes. A code combines an element and a shape with a bitwise OR.
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

// Width returns the size in bytes of an element of fixed width, and 0 for any other element.
func (c Code) Width() int { return int(elemWidth[c.Elem()]) }

var elemWidth = func() (t [256]uint8) {
	for c, w := range widths {
		t[c] = uint8(w)
	}
	return t
}()

// Type describes values. Types are shared, and never change after they are created.
type Type struct {
	Code Code
	// ID is the name of a structure or union, such as epics:nt/NTScalar:1.0.
	ID string
	// Bound is the size of a fixed array, or the maximum size of a bounded string or array.
	Bound int
	// Names has the names of the members of a structure or union, and Members has their types.
	// An array of structures or unions has one member without a name: its element.
	Names   []string
	Members []*Type

	// fields is the number of BitSet numbers that the type needs: 1, plus those of the members
	// of a structure. depth is the depth of the type tree. room is the number of elements of
	// fixed arrays in the tree. size is the memory of the tree, in which each member counts as
	// often as it occurs. It is more than the number of bytes that AppendType appends.
	fields, depth, room, size int
}

// These are the limits of a type. Real types have about a hundred fields of 50 bytes, at most
// four levels deep. The type of a group of a thousand records has about 2 MiB.
const (
	maxTypeSize = 4 << 20
	maxDepth    = 16
	maxRoom     = 1 << 16

	nodeSize   = 128 // memory of a Type
	memberSize = 24  // memory of an entry in Names and Members
)

var errTooComplex = errors.New("the type is too large, or nests too deep")

// measure sets fields, depth, room and size from the members. It returns an error if they
// exceed the limits.
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
			return errTooComplex // prevents an overflow of the sums
		}
	}
	if t.size > maxTypeSize || t.room > maxRoom {
		return errTooComplex
	}
	return nil
}

// Fields returns the number of BitSet numbers that the type needs.
func (t *Type) Fields() int { return t.fields }

// Member returns the member of a structure or union with a name, or nil if there is none. For
// a structure, number is the number of the member in a BitSet, relative to the number of t.
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

// Find returns the field at a path such as alarm.severity, and its number in a BitSet.
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

// AppendType appends a type in full, without numbers of cached types. nil is the null type.
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

// AppendNumberedType appends a type together with a number, under which the receiver must
// remember the type. The receiver must have reported that it can remember so many types.
func AppendNumberedType(dst []byte, id uint16, t *Type, o Order) []byte {
	return AppendType(o.AppendUint16(append(dst, typeFull), id), t, o)
}

// AppendTypeNumber appends the number of a type instead of the type.
func AppendTypeNumber(dst []byte, id uint16, o Order) []byte {
	return o.AppendUint16(append(dst, typeID), id)
}
