package block

import (
	"encoding/binary"
	"math/bits"
)

// A model predicts each value of a column from the previous values or from its index. The
// residuals (differences from the prediction) are packed. The numbers of the models are
// stored.
const (
	plain  = 0 // no prediction: the residual is the value
	delta  = 1 // predicts the previous value
	linear = 2 // predicts a straight line
	delta2 = 3 // predicts the previous value plus the previous difference
)

// model describes how values become residuals: the values are first divided by a factor, then
// the prediction is subtracted.
type model struct {
	kind           byte
	factor, origin int64 // value = origin + factor × k; a factor of 1 is not stored
	slope, part    int64 // for linear: value = residual + i × slope + i × part >> 16
	first, second  int64 // for delta: the first value; for delta2: also the first difference
	// bits is the estimated number of bits per residual.
	bits float64
}

// Estimates use up to sampleWindows segments of sampleWindow values each.
const sampleWindows, sampleWindow = 4, 64

// chooseModel returns the model with the smallest residuals. If vals have a common factor,
// chooseModel divides them by it.
func chooseModel(vals []int64) model {
	m := model{factor: 1}
	m.divide(vals)
	m.fit(vals)
	var cost [4]float64
	windows := min(sampleWindows, len(vals)/sampleWindow+1)
	for w := range windows {
		size := min(sampleWindow, len(vals))
		at := (len(vals) - size) * w / max(1, windows-1)
		m.windowCosts(vals[at:at+size], at, &cost)
	}
	for _, kind := range []byte{delta, linear, delta2} {
		if cost[kind]+float64(windows)/8 < cost[m.kind] {
			m.kind = kind
		}
	}
	m.bits = cost[m.kind] / float64(windows)
	return m
}

// windowCosts adds the bits per residual of a window to the cost of each model.
func (m *model) windowCosts(vals []int64, at int, cost *[4]float64) {
	var buf [sampleWindow]int64
	res := buf[:copy(buf[:], vals)]
	cost[plain] += bitsAround(res)
	differences(res)
	cost[delta] += bitsAround(res[1:])
	differences(res[1:])
	cost[delta2] += bitsAround(res[2:])
	for i, v := range vals {
		res[i] = v - m.line(at+i)
	}
	cost[linear] += bitsAround(res)
}

// bitsAround estimates how many bits a value takes as a distance from the middle value. The
// estimate is the average of two sizes. Bins take about the mean of all widths. Frames take
// the width that suits all but a few values.
func bitsAround(vals []int64) float64 {
	around, sum := middle(vals), 0
	var count [65]uint8
	for _, v := range vals {
		width := bits.Len64(zigzag(v - around))
		sum += width
		count[width]++
	}
	out, width := int(count[64]), 64
	for width > 0 && out <= len(vals)/16 {
		width--
		out += int(count[width])
	}
	return float64(sum)/float64(2*len(vals)) + float64(width)/2
}

// middle returns the median of five of the values.
func middle(vals []int64) int64 {
	n := len(vals) - 1
	a, b, c, d, e := vals[0], vals[n/4], vals[n/2], vals[n-n/4], vals[n]
	a, b = min(a, b), max(a, b)
	c, d = min(c, d), max(c, d)
	a, c = max(a, c), min(b, d) // drops the smallest and the largest of the four
	a, c = min(a, c), max(a, c)
	return max(a, min(c, e))
}

// line returns the predicted value of the straight line at index i.
func (m *model) line(i int) int64 { return int64(i)*m.slope + int64(i)*m.part>>16 }

// fit computes the line through the means of the first and the last values.
func (m *model) fit(vals []int64) {
	n, few := int64(len(vals)), min(int64(16), int64(len(vals))/4)
	first, last := vals[0], vals[n-1]
	var before, after int64
	for i := range few {
		before += vals[i] - first
		after += vals[n-few+i] - last
	}
	rise, run := last-first+(after-before)/few, n-few
	m.slope = rise / run
	if rise%run < 0 {
		m.slope--
	}
	m.part = (rise - m.slope*run) << 16 / run
}

// leastGain is the minimum number of bits that a factor must save in the whole column to be
// used.
const leastGain = 256

// divide divides the distances of vals from the first value by their greatest common divisor,
// which it determines from a sample.
func (m *model) divide(vals []int64) {
	const probes = 24
	var g uint64
	for i := 1; i <= probes; i++ {
		d := vals[(len(vals)-1)*i/probes] - vals[0]
		if g = gcd(g, uint64(max(d, -d))); g == 1 {
			return
		}
	}
	twos := bits.TrailingZeros64(g)
	if g < 2 || g > 1<<62 || bits.Len64(g)*len(vals) < leastGain {
		return
	}
	// The odd part is divided by multiplication with its inverse modulo 2^64. A value that is
	// not a multiple becomes a large number, but decoding still restores it. The power of two,
	// in contrast, must divide all values.
	for _, v := range vals {
		if v != vals[0] {
			twos = min(twos, bits.TrailingZeros64(uint64(v-vals[0])))
		}
	}
	odd := int64(g >> bits.TrailingZeros64(g))
	if odd<<twos == 1 {
		return
	}
	m.factor, m.origin = odd<<twos, vals[0]
	inverse := inverseOf(odd)
	for i, v := range vals {
		vals[i] = (v - m.origin) * inverse >> twos
	}
}

// inverseOf returns the inverse of an odd number modulo 2^64. It uses Newton's method: the
// first guess has three correct bits, and each iteration doubles that number.
func inverseOf(odd int64) int64 {
	x := odd
	for range 5 {
		x *= 2 - odd*x
	}
	return x
}

func gcd(a, b uint64) uint64 {
	if a == 0 || b == 0 {
		return a | b
	}
	twos := bits.TrailingZeros64(a | b)
	a >>= bits.TrailingZeros64(a)
	for b != 0 {
		b >>= bits.TrailingZeros64(b)
		a, b = min(a, b), max(a, b)-min(a, b)
	}
	return a << twos
}

// apply replaces values by residuals and returns the ones to be packed.
func (m *model) apply(vals []int64) []int64 {
	switch m.kind {
	case delta:
		m.first = vals[0]
		differences(vals)
		return vals[1:]
	case delta2:
		m.first, m.second = vals[0], vals[1]-vals[0]
		differences(vals)
		differences(vals[1:])
		return vals[2:]
	case linear:
		for i, v := range vals {
			vals[i] = v - m.line(i)
		}
	}
	return vals
}

// append writes the parameters that undo needs, except the kind.
func (m *model) append(dst []byte) []byte {
	if m.factor != 1 {
		dst = appendVarint(appendVarint(dst, m.factor), m.origin)
	}
	switch m.kind {
	case delta:
		dst = appendVarint(dst, m.first)
	case delta2:
		dst = appendVarint(appendVarint(dst, m.first), m.second)
	case linear:
		dst = binary.LittleEndian.AppendUint16(appendVarint(dst, m.slope), uint16(m.part))
	}
	return dst
}

// read reads the parameters of a model. The form byte holds its kind.
func (m *model) read(form byte, src []byte) (rest []byte, err error) {
	*m = model{kind: form & 3, factor: 1}
	if form&factorBit != 0 {
		if m.factor, src, err = readVarint(src); err != nil {
			return nil, err
		}
		if m.origin, src, err = readVarint(src); err != nil {
			return nil, err
		}
	}
	switch m.kind {
	case delta:
		m.first, src, err = readVarint(src)
	case delta2:
		if m.first, src, err = readVarint(src); err != nil {
			return nil, err
		}
		m.second, src, err = readVarint(src)
	case linear:
		if m.slope, src, err = readVarint(src); err != nil || len(src) < 2 {
			return nil, ErrCorrupt
		}
		m.part, src = int64(binary.LittleEndian.Uint16(src)), src[2:]
	}
	return src, err
}

// residuals returns the part of a column that holds packed residuals.
func (m *model) residuals(vals []int64) []int64 {
	switch m.kind {
	case delta:
		return vals[1:]
	case delta2:
		return vals[2:]
	}
	return vals
}

// undo turns residuals back into values.
func (m *model) undo(vals []int64) {
	switch m.kind {
	case delta:
		vals[0] = m.first
		sum(vals)
	case delta2:
		vals[0], vals[1] = m.first, m.second
		sum(vals[1:])
		sum(vals)
	case linear:
		whole, part := int64(0), int64(0)
		for i := range vals {
			vals[i] += whole + part>>16
			whole += m.slope
			part += m.part
		}
	}
	if m.factor != 1 {
		for i := range vals {
			vals[i] = m.origin + vals[i]*m.factor
		}
	}
}
