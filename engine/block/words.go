package block

import (
	"encoding/binary"
	"math"
	"math/bits"

	"varve.dev/varve/engine/sample"
)

// Encodings of a column of words: 0 to maxExponent are floats that are integers
// divided by that power of ten.
const (
	maxExponent = 15
	integers    = 0xfe
	xorPacked   = 0xff
)

var pow10 = [maxExponent + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// exact bounds the integers that a float64 holds without rounding.
const exact = 1 << 53

func appendWords(dst []byte, t sample.Type, words []uint64, s *scratch) []byte {
	switch t {
	case sample.Float64:
		if e, ok := decimals(words, s.ints); ok {
			return appendInts(append(dst, byte(e)), s.ints, s)
		}
		return appendXor(append(dst, xorPacked), words, s)
	case sample.Float32:
		return appendXor(append(dst, xorPacked), words, s)
	}
	for i, w := range words {
		s.ints[i] = int64(w)
	}
	return appendInts(append(dst, integers), s.ints, s)
}

// decimals finds the least e for which every word is, bit for bit, an integer
// divided by 10^e, and stores the integers.
func decimals(words []uint64, ints []int64) (e int, ok bool) {
	for i := 0; i < len(words); {
		v := math.Float64frombits(words[i])
		if scaled := math.RoundToEven(v * pow10[e]); math.Abs(scaled) < exact {
			ints[i] = int64(scaled)
			if math.Float64bits(float64(ints[i])/pow10[e]) == words[i] {
				i++
				continue
			}
		}
		// A word that needs more digits makes all before it start again; one that
		// no power suits (noise, NaN, −0) shows within maxExponent turns.
		if e++; e > maxExponent {
			return 0, false
		}
		i = 0
	}
	return e, true
}

// appendXor writes the first word, and what the others differ in: the bits
// between the highest and the lowest that any of them changes.
func appendXor(dst []byte, words []uint64, s *scratch) []byte {
	var changed uint64
	for _, w := range words[1:] {
		changed |= w ^ words[0]
	}
	low := bits.TrailingZeros64(changed) & 63
	width := bits.Len64(changed >> low)
	dst = append(dst, byte(low), byte(width))
	dst = binary.LittleEndian.AppendUint64(dst, words[0])
	diffs := s.bits[:len(words)-1]
	for i, w := range words[1:] {
		diffs[i] = (w ^ words[0]) >> low
	}
	return pack(dst, diffs, width)
}

func decodeWords(words []uint64, src []byte, t sample.Type, s *scratch) ([]uint64, []byte, error) {
	if len(src) == 0 {
		return words, nil, ErrCorrupt
	}
	kind, isFloat := src[0], t == sample.Float64 || t == sample.Float32
	switch {
	case kind == xorPacked && isFloat:
		return decodeXor(words, src[1:], s)
	case kind == integers && !isFloat:
		src, err := decodeInts(s.ints, src[1:], s)
		for _, v := range s.ints {
			words = append(words, uint64(v))
		}
		return words, src, err
	case kind <= maxExponent && t == sample.Float64:
		src, err := decodeInts(s.ints, src[1:], s)
		for _, v := range s.ints {
			words = append(words, math.Float64bits(float64(v)/pow10[kind]))
		}
		return words, src, err
	}
	return words, nil, ErrCorrupt
}

func decodeXor(words []uint64, src []byte, s *scratch) ([]uint64, []byte, error) {
	if len(src) < 10 {
		return words, nil, ErrCorrupt
	}
	low, width := int(src[0]), int(src[1])
	if low > 63 || low+width > 64 {
		return words, nil, ErrCorrupt
	}
	first := binary.LittleEndian.Uint64(src[2:])
	diffs := s.bits[:len(s.bits)-1]
	src, err := unpack(diffs, src[10:], width)
	if err != nil {
		return words, nil, err
	}
	words = append(words, first)
	for _, d := range diffs {
		words = append(words, first^d<<low)
	}
	return words, src, nil
}
