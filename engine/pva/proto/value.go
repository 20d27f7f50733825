package proto

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxWritten bounds the types that stand in the values of one message, in bytes.
const maxWritten = 1 << 20

var errSelector = errors.New("a union has a value of no member of it")

// Value takes a value of type t off the payload and appends it to dst in
// canonical form. known are the types that the sender has given numbers to, for
// what stands in an Any.
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
		for _, m := range t.Members {
			dst = r.value(dst, m, known, depth-1)
		}
	case Union:
		return r.union(dst, t, known, depth)
	case Any:
		return r.any(dst, known, depth)
	case String, BoundedString:
		return AppendString(dst, r.String(), LittleEndian)
	case Struct | Array, Union | Array:
		return r.list(dst, func(dst []byte) []byte { return r.value(dst, t.Members[0], known, depth-1) })
	case Any | Array:
		return r.list(dst, func(dst []byte) []byte { return r.any(dst, known, depth) })
	default:
		return r.numbers(dst, t)
	}
	return dst
}

// union takes a union: a selector and the member's value.
func (r *Reader) union(dst []byte, t *Type, known *Types, depth int) []byte {
	i, null := r.Size()
	switch {
	case r.err != nil:
		return dst
	case null:
		return append(dst, sizeNull)
	case i >= len(t.Members):
		r.fail(errSelector)
		return dst
	}
	return r.value(AppendSize(dst, i, LittleEndian), t.Members[i], known, depth-1)
}

// any takes a value that comes with its type.
func (r *Reader) any(dst []byte, known *Types, depth int) []byte {
	t := r.typ(known, depth)
	before := len(dst)
	dst = AppendType(dst, t, LittleEndian)
	if r.written += len(dst) - before; r.written > maxWritten {
		r.fail(errTooComplex) // one number on the wire can stand for a large type
		return dst[:before]
	}
	if t == nil {
		return dst
	}
	return r.value(dst, t, known, depth-1)
}

// list takes an array of elements each of which may be absent.
func (r *Reader) list(dst []byte, elem func([]byte) []byte) []byte {
	n := r.count(1)
	dst = AppendSize(dst, n, LittleEndian)
	for range n {
		present := r.Uint8()
		if r.err != nil {
			break
		}
		if present == 0 {
			dst = append(dst, 0)
			continue
		}
		dst = elem(append(dst, 1))
	}
	return dst
}

// numbers takes a scalar of fixed width, or an array of those or of strings.
func (r *Reader) numbers(dst []byte, t *Type) []byte {
	width := t.Code.Width()
	if t.Code.Shape() == 0 {
		return appendSwapped(dst, r.Bytes(width), width, r.order)
	}
	n := t.Bound
	if t.Code.Shape() != FixedArray {
		n = r.count(width)
		if t.Code.Shape() == BoundedArray && n > t.Bound {
			r.fail(fmt.Errorf("an array of at most %d elements has %d", t.Bound, n))
			return dst
		}
		dst = AppendSize(dst, n, LittleEndian)
	}
	if t.Code.Elem() == String {
		for i := 0; i < n && r.err == nil; i++ {
			dst = AppendString(dst, r.String(), LittleEndian)
		}
		return dst
	}
	if n > len(r.b)/width { // of a fixed array
		r.fail(ErrTruncated)
		return dst
	}
	return appendSwapped(dst, r.Bytes(n*width), width, r.order)
}

// appendSwapped appends numbers of a width, turned little-endian.
func appendSwapped(dst, src []byte, width int, o Order) []byte {
	if o == LittleEndian || width == 1 {
		return append(dst, src...)
	}
	switch width {
	case 2:
		for ; len(src) >= 2; src = src[2:] {
			dst = binary.LittleEndian.AppendUint16(dst, binary.BigEndian.Uint16(src))
		}
	case 4:
		for ; len(src) >= 4; src = src[4:] {
			dst = binary.LittleEndian.AppendUint32(dst, binary.BigEndian.Uint32(src))
		}
	case 8:
		for ; len(src) >= 8; src = src[8:] {
			dst = binary.LittleEndian.AppendUint64(dst, binary.BigEndian.Uint64(src))
		}
	}
	return dst
}

// AppendZero appends the value in canonical form that a field of type t has before
// it is set: 0, empty, false, or null.
func AppendZero(dst []byte, t *Type) []byte {
	switch {
	case t.Code == Struct:
		for _, m := range t.Members {
			dst = AppendZero(dst, m)
		}
		return dst
	case t.Code == Union, t.Code == Any:
		return append(dst, sizeNull) // the null selector, or type
	case t.Code.Shape() == FixedArray && t.Code.Elem() != String:
		return append(dst, make([]byte, t.Bound*t.Code.Width())...)
	case t.Code.Shape() == FixedArray:
		return append(dst, make([]byte, t.Bound)...)
	case t.Code.Shape() != 0, t.Code.Width() == 0:
		return append(dst, 0) // a size
	}
	return append(dst, make([]byte, t.Code.Width())...)
}
