package rollup

import (
	"math"
	"slices"
)

// bin returns the closed bin. h is the value that the PV holds at its end.
func (b *tally) bin(h *holding) Bin {
	out := Bin{
		Start: b.start, Width: b.end - b.start, Count: b.count, Covered: b.covered, Kind: b.kind, Changed: b.changed,
		Held: h.valid, Severity: b.severity, LastSeverity: h.tag.Severity(),
		Min: math.NaN(), Max: math.NaN(), Mean: math.NaN(), Std: math.NaN(),
	}
	switch b.kind {
	case Number:
		out.First, out.Last, out.Min, out.Max = b.first, h.number, b.min, b.max
		if b.covered > 0 {
			out.Mean, out.Std = b.moments()
		}
	case Choice:
		out.First, out.Last, out.Rest = b.first, h.number, b.rest
		out.States = slices.Clone(b.states)
	case Text:
		out.Text = string(h.bytes)
	}
	return out
}

// moments returns the rounded mean and standard deviation.
func (b *tally) moments() (mean, std float64) {
	t := float64(b.covered)
	shift := b.area / t
	mean = b.ref + shift
	switch variance := (b.sq - float64(shift*b.area)) / t; {
	case variance > 0:
		std = math.Sqrt(variance)
	case math.IsNaN(variance):
		std = math.Inf(1) // the squares of such large values overflow
	}
	if !finite(mean) {
		mean = b.min/2 + b.max/2
	}
	step := stepOf(b.min, b.max)
	return min(max(coarse(mean, step), b.min), b.max), coarse(std, step)
}

// spreadBits sets the resolution of Mean and Std: a step is about (Max − Min) / 2²⁰.
const spreadBits = 20

// stepOf returns the rounding step, a power of two, for the mean of values from low to high.
// It returns 0 if there is no such step.
func stepOf(low, high float64) float64 {
	spread := high - low
	if !(spread > 0) || !finite(spread) {
		return 0
	}
	return math.Ldexp(1, math.Ilogb(spread)-spreadBits)
}

// coarse rounds v to a multiple of step. It returns v if the multiple would need more than 53
// bits.
func coarse(v, step float64) float64 {
	if n, ok := stepsIn(v, step); ok {
		return float64(n) * step
	}
	return v
}

// stepsIn returns the number of steps that is closest to v. It returns false if the number
// needs more than 53 bits.
func stepsIn(v, step float64) (n int64, ok bool) {
	f := math.RoundToEven(v / step)
	return int64(f), math.Abs(f) < 1<<53
}
