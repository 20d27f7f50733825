package proto

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var errSelector = errors.New("a union selects a member that it does not have")

// Value reads a value of type t from the payload and appends it to dst in canonical form.
// known has the types to which the sender has given numbers, for the types inside an Any. It
// is nil where numbers are not allowed.
func (r *Reader) Value(dst []byte, t *Type, known *Types) []byte {
	return r.value(dst, t, known, maxDepth)
}

func (r *Reader) value(dst []byte, t *Type, known *Types, depth int) []byte {
	if depth == 0 {
		r.fail(errTooComplex)
		return dst
	}
	switch t.Code {
	case Struct:
		if !r.spend(&r.work, len(t.Members)) {
			return dst
		}
		for _, m := range t.Members {
			dst = r.value(dst, m, known, depth-1)
		}
		return dst
	case Union:
		return r.union(dst, t, known, depth)
	case Any:
		dst, _ = r.any(dst, known, depth)
		return dst
	case String, BoundedString:
		return AppendString(dst, r.text(t), LittleEndian)
	case Struct | Array, Union | Array, Any | Array:
		return r.list(dst, t, known, depth)
	}
	if t.Code.Shape() == 0 {
		width := t.Code.Width()
		return r.numbers(dst, t.Code, r.Bytes(width))
	}
	return r.array(dst, t)
}

// union reads a union: a selector and the value of the selected member.
func (r *Reader) union(dst []byte, t *Type, known *Types, depth int) []byte {
	i, ok := r.selector(t)
	if !ok {
		return append(dst, sizeNull)
	}
	return r.value(AppendSize(dst, i, LittleEndian), t.Members[i], known, depth-1)
}

// selector reads the number of a union's member. ok is false if the union has no value.
func (r *Reader) selector(t *Type) (i int, ok bool) {
	i, null := r.Size()
	if null || r.err != nil {
		return 0, false
	}
	if i >= len(t.Members) {
		r.fail(errSelector)
		return 0, false
	}
	return i, true
}

// any reads a value with its type. The returned type is nil if there is no value.
func (r *Reader) any(dst []byte, known *Types, depth int) ([]byte, *Type) {
	t := r.typ(known, depth)
	dst = AppendType(dst, t, LittleEndian)
	if t == nil {
		return dst, nil
	}
	return r.value(dst, t, known, depth-1), t
}

// list reads an array whose elements may be absent. An Any without a type also counts as
// absent.
func (r *Reader) list(dst []byte, t *Type, known *Types, depth int) []byte {
	n := r.count(1)
	dst = AppendSize(dst, n, LittleEndian)
	for range n {
		if r.Uint8() == 0 {
			if r.err != nil {
				break
			}
			dst = append(dst, 0)
			continue
		}
		before := len(dst)
		dst = append(dst, 1)
		if t.Code.Elem() != Any {
			dst = r.value(dst, t.Members[0], known, depth-1)
			continue
		}
		var elem *Type
		if dst, elem = r.any(dst, known, depth); elem == nil {
			dst = append(dst[:before], 0)
		}
	}
	return dst
}

// text reads a string.
func (r *Reader) text(t *Type) []byte {
	s := r.String()
	if t.Code == BoundedString && len(s) > t.Bound {
		r.fail(fmt.Errorf("a string of at most %d bytes has %d", t.Bound, len(s)))
	}
	return s
}

// array reads an array of numbers or strings.
func (r *Reader) array(dst []byte, t *Type) []byte {
	n := r.elements(t)
	if t.Code.Shape() != FixedArray {
		dst = AppendSize(dst, n, LittleEndian)
	}
	if width := t.Code.Width(); width > 0 {
		return r.numbers(dst, t.Code, r.Bytes(n*width))
	}
	for i := 0; i < n && r.err == nil; i++ {
		dst = AppendString(dst, r.String(), LittleEndian)
	}
	return dst
}

// elements reads the number of elements of an array of numbers or strings. It fails if the
// payload is too small for the elements. For strings, it counts only one byte each.
func (r *Reader) elements(t *Type) int {
	width := max(t.Code.Width(), 1) // a string has at least one byte for its size
	n := t.Bound
	switch t.Code.Shape() {
	case FixedArray:
		if n > len(r.b)/width {
			r.fail(ErrTruncated)
			return 0
		}
		return n
	case BoundedArray:
		if n = r.count(width); n > t.Bound {
			r.fail(fmt.Errorf("an array of at most %d elements has %d", t.Bound, n))
			return 0
		}
		return n
	}
	return r.count(width)
}

// numbers converts numbers from the payload's byte order to little-endian and appends them.
func (r *Reader) numbers(dst []byte, c Code, src []byte) []byte {
	start := len(dst)
	dst = append(dst, src...)
	b := dst[start:]
	if c.Elem() == Bool {
		for i, v := range b {
			b[i] = min(v, 1) // any byte except 0 means true
		}
		return dst
	}
	if r.order == LittleEndian {
		return dst
	}
	switch c.Width() {
	case 2:
		for i := 0; i+2 <= len(b); i += 2 {
			binary.LittleEndian.PutUint16(b[i:i+2], binary.BigEndian.Uint16(b[i:i+2]))
		}
	case 4:
		for i := 0; i+4 <= len(b); i += 4 {
			binary.LittleEndian.PutUint32(b[i:i+4], binary.BigEndian.Uint32(b[i:i+4]))
		}
	case 8:
		for i := 0; i+8 <= len(b); i += 8 {
			binary.LittleEndian.PutUint64(b[i:i+8], binary.BigEndian.Uint64(b[i:i+8]))
		}
	}
	return dst
}

// AppendZero appends the zero value of type t in canonical form: 0, empty, false or null.
func AppendZero(dst []byte, t *Type) []byte {
	switch {
	case t.Code == Struct:
		for _, m := range t.Members {
			dst = AppendZero(dst, m)
		}
		return dst
	case t.Code == Union, t.Code == Any:
		return append(dst, sizeNull) // a null selector, or a null type
	case t.Code.Shape() == FixedArray && t.Code.Elem() != String:
		return append(dst, make([]byte, t.Bound*t.Code.Width())...)
	case t.Code.Shape() == FixedArray:
		return append(dst, make([]byte, t.Bound)...)
	case t.Code.Shape() != 0, t.Code.Width() == 0:
		return append(dst, 0) // a size
	}
	return append(dst, make([]byte, t.Code.Width())...)
}
