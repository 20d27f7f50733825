package postprocess

import (
	"fmt"
	"math"
	"slices"
)

// Parameters of the smoothing. They are the defaults of Commons Math.
const (
	loessBandwidth = 0.3   // part of the samples that each local line is fitted to
	loessRobust    = 2     // further passes that give outliers less weight
	loessAccuracy  = 1e-12 // smaller differences count as 0
)

// loessOf smooths the samples of a bin by LOESS (Cleveland 1979) and interpolates at the
// middle of the bin by a natural cubic spline. If the middle is not between samples, or
// if there are fewer than 7 samples, the result is the first sample. Otherwise it is NaN if a
// sample is infinite.
func loessOf(dst []float64, b *bin) ([]float64, error) {
	if len(b.values) == 0 {
		return append(dst, math.NaN()), nil
	}
	first := b.values[0]
	if len(b.values) > maxLoess {
		return dst, fmt.Errorf("one bin has %d samples, and loess takes at most %d: %w", len(b.values), maxLoess, ErrBound)
	}
	x, y := rising(b.times, b.values)
	if k := int(loessBandwidth * float64(len(x))); k < 2 || x[0] > 0 || x[len(x)-1] < 0 {
		return append(dst, first), nil
	}
	if !slices.ContainsFunc(b.values, func(v float64) bool { return !finite(v) }) {
		return append(dst, spline(x, smooth(x, y), 0)), nil
	}
	return append(dst, math.NaN()), nil
}

// rising returns times in s and their values. If several samples have the same time, it
// returns the one that arrived last.
func rising(times []int64, values []float64) (x, y []float64) {
	for i, t := range times {
		if i > 0 && t == times[i-1] {
			y[len(y)-1] = values[i]
			continue
		}
		x, y = append(x, float64(t)/1e9), append(y, values[i])
	}
	return x, y
}

// smooth returns, for every x, the value of a line fitted to the samples near it.
func smooth(x, y []float64) []float64 {
	n := len(x)
	fit, off := make([]float64, n), make([]float64, n)
	weight := make([]float64, n)
	for i := range weight {
		weight[i] = 1
	}
	for pass := 0; ; pass++ {
		left, right := 0, int(loessBandwidth*float64(n))-1
		for i := range x {
			for right+1 < n && x[right+1]-x[i] < x[i]-x[left] {
				left, right = left+1, right+1
			}
			fit[i] = localLine(x[left:right+1], y[left:right+1], weight[left:right+1], x[i])
			off[i] = math.Abs(y[i] - fit[i])
		}
		if pass == loessRobust || !reweigh(weight, off) {
			return fit
		}
	}
}

// localLine fits a line to samples by weighted least squares and returns its value at a place.
// Samples far from that place weigh less, and the farthest ones weigh nothing.
func localLine(xs, ys, weight []float64, at float64) float64 {
	reach := max(at-xs[0], xs[len(xs)-1]-at)
	weigh := func(k int) float64 {
		d := math.Abs(xs[k]-at) / reach
		t := 1 - d*d*d
		return t * t * t * weight[k]
	}
	var w, mx, my float64
	for k, x := range xs {
		p := weigh(k)
		w, mx, my = w+p, mx+p*(x-at), my+p*ys[k] // large sums of x would lose digits
	}
	if w == 0 { // all are outliers
		return ys[len(ys)/2]
	}
	mx, my = mx/w, my/w
	var sxx, sxy float64 // sums of deviations, which do not cancel each other
	for k, x := range xs {
		p, d := weigh(k)/w, x-at-mx
		sxx, sxy = sxx+p*d*d, sxy+p*d*(ys[k]-my)
	}
	if math.Sqrt(sxx) < loessAccuracy {
		return my
	}
	return my - sxy/sxx*mx
}

// reweigh gives less weight to samples that are far off, by bisquares of six times the
// median. It returns false if no sample is off.
func reweigh(weight, off []float64) bool {
	sorted := slices.Sorted(slices.Values(off))
	mid := sorted[len(sorted)/2]
	if mid < loessAccuracy {
		return false
	}
	for i, o := range off {
		weight[i] = 0
		if a := o / (6 * mid); a < 1 {
			weight[i] = (1 - a*a) * (1 - a*a)
		}
	}
	return true
}

// spline returns the value at a place of the natural cubic spline through points.
func spline(x, y []float64, at float64) float64 {
	n := len(x) - 1
	// Second derivatives c (halved), by elimination downwards and substitution upwards.
	mu, z, c := make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)
	for i := 1; i < n; i++ {
		h0, h1 := x[i]-x[i-1], x[i+1]-x[i]
		g := 2*(h0+h1) - h0*mu[i-1]
		mu[i] = h1 / g
		z[i] = (3*((y[i+1]-y[i])/h1-(y[i]-y[i-1])/h0) - h0*z[i-1]) / g
	}
	for i := n - 1; i > 0; i-- {
		c[i] = z[i] - mu[i]*c[i+1]
	}
	i, found := slices.BinarySearch(x, at)
	if found {
		return y[i]
	}
	i--
	h, d := x[i+1]-x[i], at-x[i]
	slope := (y[i+1]-y[i])/h - h*(c[i+1]+2*c[i])/3
	return y[i] + d*(slope+d*(c[i]+d*(c[i+1]-c[i])/(3*h)))
}
