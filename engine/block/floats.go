package block

import (
	"math"
	"slices"

	"varve.dev/varve/engine/sample"
)

// exact is the limit below which a float64 holds every integer without rounding.
const exact = 1 << 53

// appendFloats appends a column of floats in the smallest form, as estimated from a sample of
// them.
func appendFloats(dst []byte, t sample.Type, words []uint64, s *scratch) []byte {
	if len(words) < short {
		if t == sample.Float64 {
			if e, ok := decimals(words, s.ints); ok {
				return appendInts(append(dst, byte(e)), s.ints[:len(words)], s)
			}
		}
		low, width := xorBits(words)
		return appendXor(dst, words, low, width, s)
	}
	if t == sample.Float32 && slices.ContainsFunc(words, func(w uint64) bool { return w > math.MaxUint32 }) {
		low, width := xorBits(words)
		return appendXor(dst, words, low, width, s) // words that are not float32 values
	}
	at := len(dst)
	dst = appendCoding(dst, chooseFloats(t, words, s), t, words, s)
	end := len(dst)
	low, width := xorBits(words)
	if xorLen(len(words), width) <= end-at {
		return appendXor(dst[:at], words, low, width, s)
	}
	if end-at < len(words)*bigBits/8 || !repeats(words, s) {
		return dst
	}
	if dst = appendPlanes(dst, t, words, s); len(dst)-end < end-at {
		return append(dst[:at], dst[end:]...)
	}
	return dst[:end]
}

// appendCoding appends words in the chosen coding, or as ordered integers if the coding suits
// too few of them.
func appendCoding(dst []byte, c coding, t sample.Type, words []uint64, s *scratch) []byte {
	if c.kind < ordered {
		if dst, ok := c.append(dst, t, words, s); ok {
			return dst
		}
	}
	if c.kind == split {
		return appendSplit(dst, t, words, s)
	}
	for i, w := range words {
		s.ints[i] = order(w, t)
	}
	return appendInts(append(dst, ordered), s.ints[:len(words)], s)
}

// decimals finds the smallest e for which every word is, bit for bit, an integer
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
		// If a word needs more digits, the search restarts at the first word. A word that
		// suits no power (noise, NaN, −0) ends the search after a few rounds.
		if e++; e > maxShortExponent {
			return 0, false
		}
		i = 0
	}
	return e, true
}

// maxShortExponent is the largest exponent that is tried for a short column.
const maxShortExponent = 15

// goodBits is the size per value at which a coding is accepted without trying others. bigBits
// is the size per value from which appendFloats searches for repeated values.
const goodBits, bigBits = 12, 36

// chooseFloats estimates the size of each coding from a sample of the column.
func chooseFloats(t sample.Type, words []uint64, s *scratch) coding {
	p := &s.probe
	p.fill(t, words)
	tens, isTens := p.decimal(t)
	if isTens && tens.bits <= goodBits {
		return tens
	}
	steps, isSteps := p.lattice(t)
	if isSteps && steps.bits <= goodBits {
		return steps
	}
	best := p.order(t)
	better := func(c coding, ok bool) {
		if ok && c.bits < best.bits-0.25 {
			best = c
		}
	}
	better(tens, isTens)
	better(steps, isSteps)
	better(p.binary(t))
	better(p.split(t))
	return best
}

// repeats reports whether more than a quarter of the words repeat earlier ones.
func repeats(words []uint64, s *scratch) bool {
	if len(words) < 256 {
		return false
	}
	const slots = 1 << 13
	if len(s.seen) == 0 {
		s.seen = make([]uint64, slots)
	}
	clear(s.seen)
	n := 0
	for _, w := range words {
		at := w * 0x9e3779b97f4a7c15 >> (64 - 13)
		if s.seen[at] == w {
			n++
		}
		s.seen[at] = w
	}
	return n > len(words)/4
}
