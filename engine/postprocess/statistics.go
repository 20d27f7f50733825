package postprocess

import (
	"math"
	"slices"

	"varve.dev/varve/engine/sample"
)

// statistic is computed from the numbers in a bin.
type statistic struct {
	name     string
	size     int // number of elements of the result; more than 1 makes an array
	up       order
	extremes bool
	values   bool // needs all values
	times    bool // needs the times of all values
	line     bool
	anything bool // counts values that are not numbers too
	// points marks statistics whose parameter is a number of points. They yield all
	// samples if there are fewer.
	points bool
	field  string // name of the field that the second number of the result belongs to
	// of appends the result for a bin.
	of func(dst []float64, b *bin) ([]float64, error)
	// empty turns the result for a bin into the result for an empty bin that follows. If it is
	// nil, both results are the same.
	empty func(v []float64, tag sample.Tag) sample.Tag
}

// statistics are all statistics. Their formulas are those of Commons Math, which the
// Appliance uses.
var statistics = [...]statistic{
	one("mean", toMean, func(b *bin) float64 { return b.mean }),
	{name: "min", size: 1, extremes: true, of: scalar(func(b *bin) float64 { return b.min })},
	{name: "max", size: 1, extremes: true, of: scalar(func(b *bin) float64 { return b.max })},
	{name: "count", size: 1, anything: true, of: scalar(func(b *bin) float64 { return b.n }), empty: zero},
	one("std", toVariance, (*bin).std),
	one("variance", toVariance, func(b *bin) float64 { return b.variance() }),
	one("popvariance", toVariance, func(b *bin) float64 { return b.m2 / b.n }),
	one("rms", toVariance, func(b *bin) float64 { return b.rms() }),
	one("jitter", toVariance, func(b *bin) float64 { return b.std() / b.mean }),
	one("skewness", toKurtosis, skewness),
	one("kurtosis", toKurtosis, kurtosis),
	{name: "median", size: 1, values: true, of: scalar(median)},
	{name: "linear", size: 1, line: true, of: scalar(func(b *bin) float64 { return b.line.at(b.middle) })},
	{name: "loess", size: 1, values: true, times: true, of: loessOf},
	{name: "errorbar", size: 2, up: toVariance, of: errorbar, field: "stdz"},
	{name: "stats", size: 5, up: toVariance, extremes: true, of: summarized},
	{name: "optimized", size: 5, up: toVariance, extremes: true, of: summarized, points: true},
	{name: "optimLastSample", size: 6, up: toVariance, extremes: true, of: withLast, points: true, empty: holdLast},
}

// one returns a statistic that is one number, computed from the moments.
func one(name string, up order, of func(b *bin) float64) statistic {
	return statistic{name: name, size: 1, up: up, of: scalar(of)}
}

func scalar(of func(b *bin) float64) func(dst []float64, b *bin) ([]float64, error) {
	return func(dst []float64, b *bin) ([]float64, error) { return append(dst, of(b)), nil }
}

func (b *bin) std() float64 { return math.Sqrt(b.variance()) }

// skewness returns the skewness, corrected for the bias of a sample. It is NaN for fewer
// than 3 numbers, and for equal numbers.
func skewness(b *bin) float64 {
	if b.n < 3 {
		return math.NaN()
	}
	return b.n / ((b.n - 1) * (b.n - 2)) * b.m3 / math.Pow(b.variance(), 1.5)
}

// kurtosis returns the excess kurtosis (0 for a normal distribution), corrected for the
// bias of a sample. It is NaN for fewer than 4 numbers, and for equal numbers.
func kurtosis(b *bin) float64 {
	n := b.n
	if n < 4 {
		return math.NaN()
	}
	v := b.variance()
	return n*(n+1)/((n-1)*(n-2)*(n-3))*b.m4/(v*v) - 3*(n-1)*(n-1)/((n-2)*(n-3))
}

func median(b *bin) float64 {
	n := len(b.values)
	if n == 0 {
		return math.NaN()
	}
	slices.Sort(b.values)
	lo, hi := b.values[(n-1)/2], b.values[n/2]
	if lo == hi {
		return lo // the sum of two infinities may be NaN
	}
	return lo/2 + hi/2
}

func errorbar(dst []float64, b *bin) ([]float64, error) { return append(dst, b.mean, b.std()), nil }

func summarized(dst []float64, b *bin) ([]float64, error) {
	return append(dst, b.mean, b.std(), b.min, b.max, b.n), nil
}

func withLast(dst []float64, b *bin) ([]float64, error) {
	return append(dst, b.mean, b.std(), b.min, b.max, b.n, b.last), nil
}

func zero(v []float64, _ sample.Tag) sample.Tag {
	clear(v)
	return 0
}

// holdLast returns the statistics of an empty bin in which the PV held its last number.
func holdLast(v []float64, tag sample.Tag) sample.Tag {
	last := v[5]
	v[0], v[1], v[2], v[3], v[4] = last, 0, last, last, 0
	return tag
}
