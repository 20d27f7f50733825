package postprocess

import "math"

// order is the highest moment that a statistic needs.
type order uint8

const (
	toMean     order = 1
	toVariance order = 2
	toKurtosis order = 4
)

// moments are the mean of n numbers and the sums of powers of their deviations from it. If one of
// several numbers is infinite, the mean is infinite, or NaN, and the sums are NaN.
type moments struct {
	n              float64
	mean           float64
	m2, m3, m4     float64
	min, max, last float64 // NaN if there are no numbers
}

func noMoments() moments {
	nan := math.NaN()
	return moments{mean: nan, m2: nan, m3: nan, m4: nan, min: nan, max: nan, last: nan}
}

// momentsOf returns the moments of at least one number, up to an order.
func momentsOf(v []float64, up order, wantExtremes bool) moments {
	m := moments{n: float64(len(v)), last: v[len(v)-1]}
	if wantExtremes {
		m.min, m.max = extremes(v)
	}
	if up >= toMean {
		m.mean = meanOf(v)
	}
	if up < toVariance || len(v) == 1 {
		return m
	}
	if up < toKurtosis {
		m.m2 = squares(v, m.mean)
		return m
	}
	for _, x := range v {
		d := x - m.mean
		dd := d * d
		m.m2 += dd
		m.m3 += dd * d
		m.m4 += dd * dd
	}
	return m
}

// meanOf returns the mean. It adds up differences from the first number, so that the
// mean of equal numbers is exactly that number.
func meanOf(v []float64) float64 {
	zero := v[0]
	var a, b, c, d float64 // four sums, because each addition waits for the previous one
	rest := v
	for ; len(rest) >= 4; rest = rest[4:] {
		a += rest[0] - zero
		b += rest[1] - zero
		c += rest[2] - zero
		d += rest[3] - zero
	}
	for _, x := range rest {
		a += x - zero
	}
	n := float64(len(v))
	if m := zero + (a+b+c+d)/n; !math.IsNaN(m) && !math.IsInf(m, 0) {
		return m
	}
	sum := 0.0 // some numbers are infinite, or nearly so
	for _, x := range v {
		sum += x / n
	}
	return sum
}

func squares(v []float64, mean float64) float64 {
	var a, b float64
	for ; len(v) >= 2; v = v[2:] {
		x, y := v[0]-mean, v[1]-mean
		a += x * x
		b += y * y
	}
	for _, x := range v {
		a += (x - mean) * (x - mean)
	}
	return a + b
}

func extremes(v []float64) (lo, hi float64) {
	lo, hi = v[0], v[0]
	for _, x := range v {
		if x < lo {
			lo = x
		}
		if x > hi {
			hi = x
		}
	}
	return lo, hi
}

// join adds the moments of later numbers.
func (m *moments) join(o *moments) {
	if m.n == 0 {
		*m = *o
		return
	}
	a, b := m.n, o.n
	n := a + b
	d := o.mean - m.mean
	if !finite(m.mean) || !finite(o.mean) {
		m.m2, m.m3, m.m4 = math.NaN(), math.NaN(), math.NaN() // as for all numbers at once
	}
	m.m4 += o.m4 + d*d*d*d*a*b*(a*a-a*b+b*b)/(n*n*n) + 6*d*d*(a*a*o.m2+b*b*m.m2)/(n*n) + 4*d*(a*o.m3-b*m.m3)/n
	m.m3 += o.m3 + d*d*d*a*b*(a-b)/(n*n) + 3*d*(a*o.m2-b*m.m2)/n
	m.m2 += o.m2 + d*d*a*b/n
	if math.IsInf(d, 0) || math.IsNaN(d) {
		m.mean = m.mean*(a/n) + o.mean*(b/n)
	} else {
		m.mean += d * b / n
	}
	m.n = n
	m.last = o.last
	m.min, m.max = min(m.min, o.min), max(m.max, o.max)
}

// rms returns the root of the mean square, also if a square exceeds the range of float64.
func (m *moments) rms() float64 {
	if m.n > 0 && !finite(m.mean) {
		return math.Inf(1) // the mean of +Inf and -Inf is NaN
	}
	return math.Hypot(m.mean, math.Sqrt(m.m2/m.n))
}

// variance returns the sample variance. It is 0 for one number, and NaN for none.
func (m *moments) variance() float64 {
	if m.n == 1 {
		return 0
	}
	return m.m2 / (m.n - 1)
}
