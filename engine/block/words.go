package block

import (
	"encoding/binary"
	"math"
	"math/bits"

	"varve.dev/varve/engine/sample"
)

// The first byte of a column of words is its form. Up to maxExponent, the words are floats,
// stored as integers to be divided by that power of ten.
const (
	maxExponent = 22
	narrowBit   = 0x20 // with an exponent: round to float32, then convert to float64
	multiplied  = 0x40 // integers times a step, plus an offset
	divided     = 0x41 // integers divided by a number
	ordered     = 0x50 // the bits of floats, as integers in the order of the floats
	split       = 0x51 // sign and exponent as one column, mantissas separately
	planes      = 0x52 // one plane for each byte of the words, compressed
	exceptBit   = 0x80 // with forms below ordered: exceptions are stored as words
	integers    = 0xfe
	xorPacked   = 0xff
)

// appendWords appends the values of a fixed-size type.
func appendWords(dst []byte, t sample.Type, words []uint64, s *scratch) []byte {
	if t == sample.Float64 || t == sample.Float32 {
		return appendFloats(dst, t, words, s)
	}
	for i, w := range words {
		s.ints[i] = int64(w)
	}
	return appendInts(append(dst, integers), s.ints[:len(words)], s)
}

// decodeWords fills words.
func decodeWords(words []uint64, src []byte, t sample.Type, s *scratch) (rest []byte, err error) {
	if len(src) == 0 {
		return nil, ErrCorrupt
	}
	kind, src := src[0], src[1:]
	ints, isFloat := s.ints[:len(words)], t == sample.Float64 || t == sample.Float32
	if isFloat != (kind != integers) {
		return nil, ErrCorrupt
	}
	switch kind {
	case integers:
		src, err = decodeInts(ints, src, s)
		for i, v := range ints {
			words[i] = uint64(v)
		}
		return src, err
	case xorPacked:
		return decodeXor(words, src, s)
	case ordered:
		src, err = decodeInts(ints, src, s)
		for i, v := range ints {
			words[i] = unorder(v, t)
		}
		return src, err
	case split:
		return decodeSplit(words, src, t, s)
	case planes:
		return decodePlanes(words, src, t, s)
	}
	return decodeScaled(words, kind, src, t, s)
}

// xorBits returns the lowest bit in which any word differs from the first, and the number of
// bits from there to the highest such bit.
func xorBits(words []uint64) (low, width int) {
	var changed uint64
	for _, w := range words[1:] {
		changed |= w ^ words[0]
	}
	low = bits.TrailingZeros64(changed) & 63
	return low, bits.Len64(changed >> low)
}

// xorLen returns the size of n words that differ in width bits.
func xorLen(n, width int) int { return 11 + packedLen(n-1, width) }

// appendXor writes the first word. For each other word it then writes the XOR with the first,
// reduced to the range of bits that xorBits returned.
func appendXor(dst []byte, words []uint64, low, width int, s *scratch) []byte {
	dst = append(dst, xorPacked, byte(low), byte(width))
	dst = binary.LittleEndian.AppendUint64(dst, words[0])
	diffs := s.ints[:len(words)-1]
	for i, w := range words[1:] {
		diffs[i] = int64((w ^ words[0]) >> low)
	}
	return pack(dst, diffs, 0, width)
}

func decodeXor(words []uint64, src []byte, s *scratch) ([]byte, error) {
	if len(src) < 10 {
		return nil, ErrCorrupt
	}
	low, width := int(src[0]), int(src[1])
	if low > 63 || low+width > 64 {
		return nil, ErrCorrupt
	}
	first := binary.LittleEndian.Uint64(src[2:])
	diffs := s.ints[:len(words)-1]
	src, err := unpack(diffs, src[10:], 0, width)
	if err != nil {
		return nil, err
	}
	words[0] = first
	for i, d := range diffs {
		words[i+1] = first ^ uint64(d)<<(low&63)
	}
	return src, nil
}

// order maps the bits of a float to an integer that increases with the float. The function
// unorder undoes it.
func order(w uint64, t sample.Type) int64 {
	if t == sample.Float32 {
		v := int64(int32(w))
		return v ^ v>>63&math.MaxInt32
	}
	v := int64(w)
	return v ^ v>>63&math.MaxInt64
}

func unorder(v int64, t sample.Type) uint64 {
	if t == sample.Float32 {
		return uint64(uint32(v ^ v>>63&math.MaxInt32))
	}
	return uint64(v ^ v>>63&math.MaxInt64)
}

// layout returns the number of bits of a float's mantissa and of the whole float.
func layout(t sample.Type) (mantissa, size int) {
	if t == sample.Float32 {
		return 23, 32
	}
	return 52, 64
}

// leftOf returns the exponent and the sign of a float. They hardly change if only the mantissa
// is noise: floats of similar size yield adjacent integers.
func leftOf(w uint64, mantissa, size int) int64 {
	exponent := w >> mantissa & (1<<(size-1-mantissa) - 1)
	return int64(exponent<<1 | w>>(size-1))
}

// appendSplit appends exponents and signs as a column, then the mantissas as packed bits.
func appendSplit(dst []byte, t sample.Type, words []uint64, s *scratch) []byte {
	mantissa, size := layout(t)
	ints := s.ints[:len(words)]
	for i, w := range words {
		ints[i] = leftOf(w, mantissa, size)
	}
	dst = appendInts(append(dst, split), ints, s)
	for i, w := range words {
		ints[i] = int64(w)
	}
	return pack(dst, ints, 0, mantissa)
}

func decodeSplit(words []uint64, src []byte, t sample.Type, s *scratch) ([]byte, error) {
	mantissa, size := layout(t)
	ints := s.ints[:len(words)]
	src, err := decodeInts(ints, src, s)
	if err != nil {
		return nil, err
	}
	for i, v := range ints {
		words[i] = uint64(v)>>1<<mantissa | uint64(v)<<(size-1)&(1<<(size-1))
	}
	if src, err = unpack(ints, src, 0, mantissa); err != nil {
		return nil, err
	}
	for i, v := range ints {
		words[i] |= uint64(v)
	}
	return src, nil
}
