package block

import (
	"math"
	"math/bits"

	"varve.dev/varve/engine/sample"
)

// probe is a sample of a column of floats: up to four segments of adjacent values.
type probe struct {
	words  []uint64
	window int // length of a segment, in values
	ints   []int64
	except []int64
	floats []float64 // the finite words, as numbers
}

const probeWindow = 32

// fill fills the probe from a column of at least short words.
func (p *probe) fill(t sample.Type, words []uint64) {
	p.words, p.window = p.words[:0], min(len(words), probeWindow)
	segments := min(sampleWindows, len(words)/probeWindow)
	for i := range segments {
		at := 0
		if i > 0 {
			at = (len(words) - p.window) * i / (segments - 1)
		}
		p.words = append(p.words, words[at:at+p.window]...)
	}
	if cap(p.ints) < len(p.words) {
		p.ints, p.except = make([]int64, sampleWindows*probeWindow), make([]int64, sampleWindows*probeWindow)
	}
	p.ints, p.except, p.floats = p.ints[:len(p.words)], p.except[:len(p.words)], p.floats[:0]
	for _, w := range p.words {
		if v := sample.Float(t, w); v-v == 0 {
			p.floats = append(p.floats, v)
		}
	}
}

// bits estimates the bits per value from the integers of the probe.
func (p *probe) bits() float64 {
	var buf [probeWindow]int64
	values, deltas, windows := 0.0, 0.0, len(p.ints)/p.window
	for at := 0; at < len(p.ints); at += p.window {
		w := buf[:copy(buf[:], p.ints[at:at+p.window])]
		values += bitsAround(w)
		differences(w)
		deltas += bitsAround(w[1:])
	}
	return min(values, deltas) / float64(windows)
}

// order estimates the size of the ordered form.
func (p *probe) order(t sample.Type) coding {
	for i, w := range p.words {
		p.ints[i] = order(w, t)
	}
	return coding{kind: ordered, bits: p.bits()}
}

// split estimates the size of the split form, which stores exponents and signs separately from
// mantissas.
func (p *probe) split(t sample.Type) (coding, bool) {
	mantissa, size := layout(t)
	for i, w := range p.words {
		p.ints[i] = leftOf(w, mantissa, size)
	}
	return coding{kind: split, bits: p.bits() + float64(mantissa)}, true
}

// exceptionBits is the approximate size of a value that a coding cannot represent.
const exceptionBits = 72

// estimate fills in the size of a coding. It returns false if the coding suits too few values.
func (p *probe) estimate(c coding, t sample.Type) (coding, bool) {
	n := c.integers(p.ints, p.words, t, p.except)
	c.bits = p.bits() + float64(n)*exceptionBits/float64(len(p.words))
	return c, n <= len(p.words)/8
}

// decimal searches for the smallest power of ten that turns most values into integers.
func (p *probe) decimal(t sample.Type) (coding, bool) {
	narrow := t == sample.Float32
	if !narrow {
		var all uint64
		for _, w := range p.words {
			all |= w
		}
		narrow = all<<35 == 0
	}
	e, misses := 0, 0
	for i := 0; i < len(p.floats) && e <= maxExponent; i += 3 {
		v, at := p.floats[i], e
		for at <= maxExponent && !isDecimal(v, pow10[at], narrow) {
			at++
		}
		if at > maxExponent {
			if misses++; misses > 1+i/24 {
				return coding{}, false
			}
			continue
		}
		e = at
	}
	c := coding{kind: byte(e), by: pow10[e]}
	if narrow && t == sample.Float64 {
		c.kind |= narrowBit
	}
	return p.estimate(c, t)
}

// isDecimal reports whether v is an integer divided by a power of ten.
func isDecimal(v, power float64, narrow bool) bool {
	k := math.RoundToEven(v * power)
	back := k / power
	if narrow {
		back = float64(float32(back))
	}
	return back == v && math.Abs(k) < exact
}

// binary searches for the largest power of two that divides all values.
func (p *probe) binary(t sample.Type) (coding, bool) {
	if t != sample.Float64 {
		return coding{}, false
	}
	low, high := math.MaxInt, math.MinInt
	for _, v := range p.floats {
		if v != 0 {
			l, h := lowestBit(math.Float64bits(v))
			low, high = min(low, l), max(high, h)
		}
	}
	if low > high || high-low > 62 || low < -1020 {
		return coding{}, false
	}
	return p.estimate(coding{kind: multiplied, by: math.Ldexp(1, low)}, sample.Float64)
}

// lowestBit returns the exponents of the lowest and of the highest set bit of a finite float
// other than 0.
func lowestBit(w uint64) (low, high int) {
	e, m := int(w>>52&0x7ff), w&(1<<52-1)
	if e > 0 {
		m |= 1 << 52
	} else {
		e = 1
	}
	return e - 1075 + bits.TrailingZeros64(m), e - 1075 + bits.Len64(m)
}
