package rollup

import (
	"math"
	"slices"
)

// bin returns the bin that is closed, after which h holds.
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

// moments returns the mean and the standard deviation, rounded.
func (b *tally) moments() (mean, std float64) {
	t := float64(b.covered)
	shift := b.area / t
	mean = b.ref + shift
	switch variance := (b.sq - float64(shift*b.area)) / t; {
	case variance > 0:
		std = math.Sqrt(variance)
	case math.IsNaN(variance):
		std = math.Inf(1) // values so large that their squares are no numbers
	}
	if !finite(mean) {
		mean = b.min/2 + b.max/2
	}
	step := stepOf(b.min, b.max)
	return min(max(coarse(mean, step), b.min), b.max), coarse(std, step)
}

// spreadBits says how fine Mean and Std are: in steps of about a 2²⁰th of Max − Min.
const spreadBits = 20

// stepOf returns the step of the mean of values from low to high, a power of two; 0 if
// there is none.
func stepOf(low, high float64) float64 {
	spread := high - low
	if !(spread > 0) || !finite(spread) {
		return 0
	}
	return math.Ldexp(1, math.Ilogb(spread)-spreadBits)
}

// coarse rounds v to a multiple of a step. One that has more than 53 bits stays.
func coarse(v, step float64) float64 {
	if n, ok := stepsIn(v, step); ok {
		return float64(n) * step
	}
	return v
}

// stepsIn returns the multiple of a step that is next to v; false if it is none of 53
// bits.
func stepsIn(v, step float64) (n int64, ok bool) {
	f := math.RoundToEven(v / step)
	return int64(f), math.Abs(f) < 1<<53
}
