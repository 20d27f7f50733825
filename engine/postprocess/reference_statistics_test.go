package postprocess

import (
	"math"
	"math/big"
	"slices"
	"strings"
)

// summary returns the statistic of each bin.
func (q *request) summary(width int64) (out []plain) {
	name, fills := strings.CutSuffix(q.name, "Sample")
	fills = !fills
	if q.name == "optimLastSample" {
		name, fills = q.name, true
	}
	if q.name == "optimLastSampleSample" {
		name = "optimLastSample"
	}
	held := math.NaN() // the last number so far
	var result plain
	q.eachBin(width, func(n int64, in []plain) {
		if name != "count" {
			in = numbersOf(in, false)
		}
		middle := n*width + width/2
		switch {
		case len(in) > 0:
			result = plain{sev: worstOf(in)}
			result.v, result.unequal = statisticOf(name, in, middle, held)
			for _, p := range numbersOf(in, true) {
				held = p.v[0]
			}
		case !fills || result.v == nil:
			return
		case name == "count":
			result = plain{v: []float64{0}}
		case name == "optimLastSample":
			result.v = []float64{held, 0, held, held, 0, held}
			result.unequal = false
		}
		result.at = middle
		out = append(out, result)
	})
	return out
}

// statisticOf returns a statistic of the samples in a bin. rounding is true if rounding decides
// about the result.
func statisticOf(name string, in []plain, middle int64, held float64) (v []float64, rounding bool) {
	nan := math.NaN()
	var x []float64
	for _, p := range numbersOf(in, true) {
		x = append(x, p.v[0])
	}
	m := exactly(x)
	std := math.Sqrt(m.variance(1))
	least, greatest := nan, nan
	if len(x) > 0 {
		least, greatest, held = slices.Min(x), slices.Max(x), x[len(x)-1]
	}
	n := float64(len(x))
	switch name {
	case "mean":
		v = []float64{m.mean}
	case "min":
		v = []float64{least}
	case "max":
		v = []float64{greatest}
	case "count":
		v = []float64{n}
		for _, p := range in {
			if p.text {
				v[0]++
			}
		}
	case "std":
		v = []float64{std}
	case "variance":
		v = []float64{m.variance(1)}
	case "popvariance":
		v = []float64{m.variance(0)}
	case "rms":
		v = []float64{m.rms()}
	case "jitter":
		v, rounding = []float64{std / m.mean}, math.Abs(m.mean) < 1e-6*math.Max(math.Abs(least), math.Abs(greatest))
	case "skewness":
		v = []float64{m.skewness()}
	case "kurtosis":
		v = []float64{m.kurtosis()}
	case "median":
		v = []float64{middleOf(x)}
	case "linear":
		v = []float64{between(numbersOf(in, true), middle)}
	case "loess":
		v = []float64{smoothed(numbersOf(in, true), middle)}
		rounding = unstable(numbersOf(in, true), middle, v[0])
	case "errorbar":
		v = []float64{m.mean, std}
	case "stats", "optimized":
		v = []float64{m.mean, std, least, greatest, n}
	case "optimLastSample":
		v = []float64{m.mean, std, least, greatest, n, held}
	default:
		panic("no reference for " + name)
	}
	return v, rounding
}

// exact are numbers whose moments are computed with 2,200 binary digits, in which no sum of float64
// numbers is rounded.
type exact struct {
	x    []float64
	mean float64
	big  *big.Float // the mean, if all numbers are finite
}

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(2200).SetFloat64(x) }

func exactly(x []float64) exact {
	e := exact{x: x, mean: math.NaN()}
	if len(x) == 0 {
		return e
	}
	sum, infinite := bigOf(0), 0.0
	for _, v := range x {
		if math.IsInf(v, 0) {
			infinite += v
			continue
		}
		sum.Add(sum, bigOf(v))
	}
	if infinite != 0 { // also NaN, for +Inf and -Inf
		e.mean = infinite
		return e
	}
	e.big = sum.Quo(sum, bigOf(float64(len(x))))
	e.mean, _ = e.big.Float64()
	return e
}

// power returns the sum of powers of the deviations from the mean.
func (e *exact) power(k int) *big.Float {
	sum := bigOf(0)
	for _, v := range e.x {
		d := new(big.Float).Sub(bigOf(v), e.big)
		p := bigOf(1)
		for range k {
			p.Mul(p, d)
		}
		sum.Add(sum, p)
	}
	return sum
}

// rounded returns the nearest float64.
func rounded(b *big.Float) float64 { f, _ := b.Float64(); return f }

// variance returns the sum of squares divided by n-less. It is 0 for one number.
func (e *exact) variance(less int) float64 {
	switch {
	case len(e.x) == 1:
		return 0
	case e.big == nil:
		return math.NaN()
	}
	return rounded(new(big.Float).Quo(e.power(2), bigOf(float64(len(e.x)-less))))
}

func (e *exact) rms() float64 {
	if len(e.x) == 0 {
		return math.NaN()
	}
	sum := bigOf(0)
	for _, v := range e.x {
		if math.IsInf(v, 0) {
			return math.Inf(1)
		}
		sum.Add(sum, new(big.Float).Mul(bigOf(v), bigOf(v)))
	}
	return rounded(sum.Sqrt(sum.Quo(sum, bigOf(float64(len(e.x))))))
}

func (e *exact) skewness() float64 {
	n := float64(len(e.x))
	if n < 3 || e.big == nil || e.power(2).Sign() == 0 {
		return math.NaN()
	}
	v := new(big.Float).Quo(e.power(2), bigOf(n-1))
	cube := new(big.Float).Mul(v, new(big.Float).Sqrt(v))
	return n / ((n - 1) * (n - 2)) * rounded(cube.Quo(e.power(3), cube))
}

func (e *exact) kurtosis() float64 {
	n := float64(len(e.x))
	if n < 4 || e.big == nil || e.power(2).Sign() == 0 {
		return math.NaN()
	}
	v := new(big.Float).Quo(e.power(2), bigOf(n-1))
	q := rounded(new(big.Float).Quo(e.power(4), new(big.Float).Mul(v, v)))
	return n*(n+1)/((n-1)*(n-2)*(n-3))*q - 3*(n-1)*(n-1)/((n-2)*(n-3))
}

// middleOf returns the median.
func middleOf(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	switch n := len(s); {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return s[n/2]
	case math.IsInf(s[n/2-1], 0) || math.IsInf(s[n/2], 0):
		return s[n/2-1] + s[n/2]
	default:
		e := exactly(s[n/2-1 : n/2+1])
		return e.mean
	}
}

// between interpolates numbers linearly at a time. If all are on one side of it, it returns the
// first one.
func between(in []plain, at int64) float64 {
	var before, after *plain
	for i := range in {
		if in[i].at <= at {
			before = &in[i]
		}
		if in[i].at >= at && after == nil {
			after = &in[i]
		}
	}
	switch {
	case len(in) == 0:
		return math.NaN()
	case before == nil || after == nil:
		return in[0].v[0]
	case before.at == at:
		return before.v[0]
	}
	part := float64(at-before.at) / float64(after.at-before.at)
	return before.v[0]*(1-part) + after.v[0]*part
}
