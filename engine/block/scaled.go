package block

import (
	"encoding/binary"
	"math"

	"varve.dev/varve/engine/sample"
)

var pow10 = [maxExponent + 1]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// coding is a way to represent floats as integers.
type coding struct {
	kind byte
	// by is the number by which integers are multiplied or divided: a step, a divisor or a
	// power of ten.
	by, offset float64
	// bits is the estimated number of bits per value.
	bits float64
}

// narrow reports whether values are rounded to float32.
func (c *coding) narrow(t sample.Type) bool {
	return t == sample.Float32 || c.kind < multiplied && c.kind&narrowBit != 0
}

// integers converts words to integers that restore the words bit for bit. A word without such
// an integer is an exception: integers repeats the previous integer and stores the word's
// index in except. It returns the number of exceptions.
func (c *coding) integers(ints []int64, words []uint64, t sample.Type, except []int64) int {
	n, last := 0, int64(0)
	scale, divide, narrow := c.by, c.kind != multiplied, c.narrow(t)
	if !divide {
		scale = 1 / c.by
	}
	for i, w := range words {
		var v, back float64
		if t == sample.Float32 {
			v = float64(math.Float32frombits(uint32(w)))
		} else {
			v = math.Float64frombits(w)
		}
		k := int64(math.RoundToEven((v - c.offset) * scale))
		if divide {
			back = float64(k) / c.by
		} else {
			back = float64(float64(k)*c.by) + c.offset // not fused into one operation
		}
		if narrow {
			back = float64(float32(back))
		}
		if math.Float64bits(back) != math.Float64bits(v) { // also true for a NaN, which no integer restores
			ints[i], except[n] = last, int64(i)
			n++
			continue
		}
		ints[i], last = k, k
	}
	return n
}

// append appends a column as integers and exceptions. It returns false if there are too many
// exceptions.
func (c *coding) append(dst []byte, t sample.Type, words []uint64, s *scratch) ([]byte, bool) {
	ints, except := s.ints[:len(words)], s.sub(len(words))
	n := c.integers(ints, words, t, except)
	if n > len(words)/8 {
		return dst, false
	}
	kind := c.kind
	if n > 0 {
		kind |= exceptBit
	}
	dst = append(dst, kind)
	if c.kind >= multiplied {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(c.by))
	}
	if c.kind == multiplied {
		dst = appendFloat(dst, c.offset)
	}
	if n > 0 {
		dst = binary.AppendUvarint(dst, uint64(n))
		for _, at := range except[:n] {
			dst = binary.LittleEndian.AppendUint64(dst, words[at])
		}
		dst = appendPacked(dst, except[:n], s, false)
	}
	return appendInts(dst, ints, s), true
}

// appendFloat appends a float that is often 0: a byte 0, or a byte 1 and the float.
func appendFloat(dst []byte, v float64) []byte {
	if v == 0 {
		return append(dst, 0)
	}
	return binary.LittleEndian.AppendUint64(append(dst, 1), math.Float64bits(v))
}

func readFloat(src []byte) (float64, []byte, error) {
	if len(src) < 8 {
		return 0, nil, ErrCorrupt
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(src)), src[8:], nil
}

// read reads the parameters of a coding.
func (c *coding) read(kind byte, src []byte) (rest []byte, err error) {
	c.kind = kind &^ exceptBit
	if e := c.kind &^ narrowBit; e <= maxExponent {
		c.by = pow10[e]
		return src, nil
	}
	if c.kind != multiplied && c.kind != divided {
		return nil, ErrCorrupt
	}
	if c.by, src, err = readFloat(src); err != nil || c.kind == divided {
		return src, err
	}
	if len(src) == 0 || src[0] > 1 {
		return nil, ErrCorrupt
	}
	if src[0] == 0 {
		return src[1:], nil
	}
	c.offset, src, err = readFloat(src[1:])
	return src, err
}

func decodeScaled(words []uint64, kind byte, src []byte, t sample.Type, s *scratch) (rest []byte, err error) {
	c := coding{kind: kind}
	if kind <= maxExponent {
		c.by = pow10[kind]
	} else if src, err = c.read(kind, src); err != nil {
		return nil, err
	}
	if t == sample.Float32 && c.kind >= multiplied {
		return nil, ErrCorrupt
	}
	if kind&exceptBit != 0 {
		return c.decodeExcept(words, src, t, s)
	}
	ints := s.ints[:len(words)]
	if src, err = decodeInts(ints, src, s); err != nil {
		return nil, err
	}
	c.floats(words, ints, t)
	return src, nil
}

// decodeExcept decodes a column with exceptions, which are stored as their number, the words
// and their indexes.
func (c *coding) decodeExcept(words []uint64, src []byte, t sample.Type, s *scratch) ([]byte, error) {
	n, src, err := readCount(src, len(words))
	if err != nil || len(src) < 8*n {
		return nil, ErrCorrupt
	}
	except, places, ints := src[:8*n], s.places(n), s.ints[:len(words)]
	if src, err = decodePacked(places, src[8*n:], s); err != nil {
		return nil, err
	}
	if src, err = decodeInts(ints, src, s); err != nil {
		return nil, err
	}
	c.floats(words, ints, t)
	for i, at := range places {
		if uint64(at) >= uint64(len(words)) {
			return nil, ErrCorrupt
		}
		words[at] = binary.LittleEndian.Uint64(except[8*i:])
	}
	return src, nil
}

// floats converts integers back to words. The caller restores the exceptions.
func (c *coding) floats(words []uint64, ints []int64, t sample.Type) {
	by, offset := c.by, c.offset
	switch {
	case t == sample.Float32:
		for i, k := range ints {
			words[i] = uint64(math.Float32bits(float32(float64(k) / by)))
		}
	case c.narrow(t):
		for i, k := range ints {
			words[i] = math.Float64bits(float64(float32(float64(k) / by)))
		}
	case c.kind != multiplied:
		for i, k := range ints {
			words[i] = math.Float64bits(float64(k) / by)
		}
	case offset == 0:
		for i, k := range ints {
			words[i] = math.Float64bits(float64(k) * by)
		}
	default:
		for i, k := range ints {
			words[i] = math.Float64bits(float64(float64(k)*by) + offset)
		}
	}
}
