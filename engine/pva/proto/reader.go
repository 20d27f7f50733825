package proto

import "errors"

// ErrTruncated means that a payload ends too early.
var ErrTruncated = errors.New("the message is cut short")

// Reader reads fields from a payload. The first truncated or invalid field sets an error,
// which Err returns. All later reads return zero values. Results share the payload's memory.
type Reader struct {
	b     []byte
	order Order
	err   error
	// types is the remaining memory budget for the types of the payload. work is the number of
	// structure members that may still be visited.
	types, work int
}

// NewReader returns a Reader of a payload.
func NewReader(payload []byte, order Order) Reader {
	return Reader{b: payload, order: order, types: maxTypes, work: freeWork + maxWork*len(payload)}
}

// These limits apply to the memory and work for a payload in addition to its size. The number
// of a cached type has few bytes but can stand for a large type, and a value of structures
// without members has no bytes at all.
const (
	maxTypes = 16 << 20
	maxWork  = 8       // per byte
	freeWork = 1 << 18 // enough for one value of the largest type
)

// spend subtracts n from a remaining budget, and fails if the budget is too small.
func (r *Reader) spend(left *int, n int) bool {
	if n > *left {
		r.fail(errTooComplex)
		return false
	}
	*left -= n
	return true
}

// Err returns the first error, or nil.
func (r *Reader) Err() error { return r.err }

// Len returns the number of remaining bytes.
func (r *Reader) Len() int { return len(r.b) }

// Order returns the byte order.
func (r *Reader) Order() Order { return r.order }

// fail sets the error, unless there already is one, and discards the remaining bytes.
func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

// Bytes reads n bytes. The result shares the memory of the payload.
func (r *Reader) Bytes(n int) []byte {
	if uint(n) > uint(len(r.b)) {
		r.fail(ErrTruncated)
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// Uint8 reads a byte.
func (r *Reader) Uint8() uint8 {
	if len(r.b) < 1 {
		r.fail(ErrTruncated)
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

// Uint16 reads two bytes.
func (r *Reader) Uint16() uint16 {
	if b := r.Bytes(2); b != nil {
		return r.order.Uint16(b)
	}
	return 0
}

// Uint32 reads four bytes.
func (r *Reader) Uint32() uint32 {
	if b := r.Bytes(4); b != nil {
		return r.order.Uint32(b)
	}
	return 0
}

// Uint64 reads eight bytes.
func (r *Reader) Uint64() uint64 {
	if b := r.Bytes(8); b != nil {
		return r.order.Uint64(b)
	}
	return 0
}

const (
	sizeNull = 0xff // means null instead of a size
	sizeLong = 0xfe // four bytes follow
	maxSize  = 1<<31 - 2
)

var errSize = errors.New("a size is larger than 2³¹ − 2")

// Size reads a size. null is true if the size is null, as for a union without a value.
func (r *Reader) Size() (n int, null bool) {
	switch first := r.Uint8(); first {
	case sizeNull:
		return 0, true
	case sizeLong:
		v := r.Uint32()
		if v > maxSize {
			r.fail(errSize)
			return 0, false
		}
		return int(v), false
	default:
		return int(first), false
	}
}

// count reads the number of elements that follow. Each element has at least the given number
// of bytes. count fails if the payload is too small for the elements, so a decoder never
// allocates memory for missing elements.
func (r *Reader) count(least int) int {
	n, _ := r.Size()
	if n > len(r.b)/max(least, 1) {
		r.fail(ErrTruncated)
		return 0
	}
	return n
}

// String reads a string. The result shares the memory of the payload. A null string becomes an
// empty string.
func (r *Reader) String() []byte {
	n, _ := r.Size()
	return r.Bytes(n)
}

// AppendSize appends a size.
func AppendSize(dst []byte, n int, o Order) []byte {
	if n < sizeLong {
		return append(dst, byte(n))
	}
	return o.AppendUint32(append(dst, sizeLong), uint32(n))
}

// AppendString appends a string.
func AppendString[T string | []byte](dst []byte, s T, o Order) []byte {
	return append(AppendSize(dst, len(s), o), s...)
}
