package postprocess

import (
	"math"
	"slices"
)

// smoothed returns the value at a time of the natural cubic spline through samples that LOESS has
// smoothed: local lines through the nearest 30 % of the samples, weighted by tricubes, and two passes
// with less weight for outliers. Samples of one time count as the last of them. The result is the first
// sample if there are fewer than 7, or if the time is not between them, and NaN if one is infinite.
func smoothed(in []plain, at int64) float64 {
	if len(in) == 0 {
		return math.NaN()
	}
	var x, y []float64
	infinite := false
	for i, p := range in {
		infinite = infinite || math.IsInf(p.v[0], 0)
		if i+1 < len(in) && in[i+1].at == p.at {
			continue
		}
		x, y = append(x, float64(p.at-at)/1e9), append(y, p.v[0])
	}
	n := len(x)
	k := n * 3 / 10
	switch {
	case k < 2 || x[0] > 0 || x[n-1] < 0:
		return in[0].v[0]
	case infinite:
		return math.NaN()
	}
	weight := slices.Repeat([]float64{1}, n)
	fit := make([]float64, n)
	for pass := range 3 {
		off := make([]float64, n)
		for i := range x {
			fit[i] = fitted(x, y, weight, i, k)
			off[i] = math.Abs(y[i] - fit[i])
		}
		mid := slices.Sorted(slices.Values(off))[n/2]
		if mid < 1e-12 || pass == 2 {
			break
		}
		for i := range off {
			u := math.Min(1, off[i]/6/mid)
			weight[i] = (1 - u*u) * (1 - u*u)
		}
	}
	return cubic(x, fit)
}

// unstable reports whether rounding decides about a smoothed value: it changes if the last digits of the
// samples do. A line through samples that are close to each other, continued far beyond them, does so.
func unstable(in []plain, at int64, v float64) bool {
	largest := 0.0
	changed := slices.Clone(in)
	for i, p := range in {
		x := p.v[0]
		changed[i].v = []float64{x * (1 + 1e-13*float64(i%3-1))}
		largest = max(largest, math.Abs(x))
	}
	return math.Abs(smoothed(changed, at)-v) > 1e-8*largest
}

// fitted returns the value at sample i of the line through the k samples nearest to it.
func fitted(x, y, weight []float64, i, k int) float64 {
	first := 0
	for first+k < len(x) && x[first+k]-x[i] < x[i]-x[first] {
		first++
	}
	reach := math.Max(x[i]-x[first], x[first+k-1]-x[i])
	w := make([]float64, len(x))
	var sum, mx, my, sxx, sxy float64
	for j := first; j < first+k; j++ {
		w[j] = math.Pow(1-math.Pow(math.Abs(x[j]-x[i])/reach, 3), 3) * weight[j]
		sum += w[j]
	}
	if sum == 0 {
		return y[first+k/2]
	}
	for j, w := range w {
		mx, my = mx+w*(x[j]-x[i])/sum, my+w*y[j]/sum
	}
	for j, w := range w {
		d := x[j] - x[i] - mx
		sxx, sxy = sxx+w*d*d/sum, sxy+w*d*(y[j]-my)/sum
	}
	if math.Sqrt(sxx) < 1e-12 {
		return my
	}
	return my - mx*sxy/sxx
}

// cubic returns the value at 0 of the natural cubic spline through points. It solves the equations of
// its second derivatives by Gaussian elimination.
func cubic(x, y []float64) float64 {
	n := len(x)
	a := make([][]float64, n) // each row ends with its right side
	for i := range a {
		a[i] = make([]float64, n+1)
		if i == 0 || i == n-1 {
			a[i][i] = 1
			continue
		}
		l, r := x[i]-x[i-1], x[i+1]-x[i]
		a[i][i-1], a[i][i], a[i][i+1] = l/6, (l+r)/3, r/6
		a[i][n] = (y[i+1]-y[i])/r - (y[i]-y[i-1])/l
	}
	for i := range a {
		for j := i + 1; j < n; j++ {
			f := a[j][i] / a[i][i]
			for c := i; f != 0 && c <= n; c++ {
				a[j][c] -= f * a[i][c]
			}
		}
	}
	m := make([]float64, n)
	for i := n - 1; i >= 0; i-- {
		m[i] = a[i][n]
		for c := i + 1; c < n; c++ {
			m[i] -= a[i][c] * m[c]
		}
		m[i] /= a[i][i]
	}
	i := 0
	for i+2 < n && x[i+1] <= 0 {
		i++
	}
	h, l, r := x[i+1]-x[i], -x[i], x[i+1]
	return m[i]*r*r*r/6/h + m[i+1]*l*l*l/6/h + (y[i]/h-m[i]*h/6)*r + (y[i+1]/h-m[i+1]*h/6)*l
}
