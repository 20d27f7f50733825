package block

import (
	"math"

	"varve.dev/varve/engine/sample"
)

// ADC readings have the form k × step + offset with an integer k, and each operation is
// rounded, because this is how a record converts the raw value. The search first computes the
// greatest common divisor of the distances between values, which are known only up to
// rounding. It then finds the exact step among the neighbors of the resulting float.

// Limits of the search, relative to the largest value and to the step.
const (
	rounding  = 1.0 / (1 << 52) // relative error of values without an offset
	hidden    = 1.0 / (1 << 40) // relative error of values that an offset made small
	leastStep = 1 << 16         // in units of the rounding error
	nearWhole = 1.0 / (1 << 7)
)

// lattice searches for a step and an offset that reproduce most values bit for bit.
func (p *probe) lattice(t sample.Type) (coding, bool) {
	if t != sample.Float64 || len(p.floats) < short/2 {
		return coding{}, false
	}
	step := commonStep(p.floats, rounding)
	if step == 0 {
		if step = commonStep(p.floats, hidden); step == 0 {
			return coding{}, false
		}
	}
	best, found := coding{}, false
	if allWhole(p.floats, 0, step) {
		best, found = p.around(0, step)
	} else {
		for _, offset := range offsets {
			if allWhole(p.floats, offset, step) {
				if best, found = p.around(offset, step); found {
					break
				}
			}
		}
	}
	if !found {
		return coding{}, false
	}
	return p.estimate(best, sample.Float64)
}

// offsets holds the usual lower ends of measuring ranges.
var offsets = func() (list []float64) {
	for _, m := range []float64{1, 5, 2, 2.5, 4, 1.25, 1.5, 3, 6, 7.5, 8} {
		for _, ten := range []float64{1, 10, 100, 1000, 10000} {
			list = append(list, -m*ten, m*ten, -m/ten, m/ten)
		}
	}
	return list
}()

// commonStep returns the approximate greatest common divisor of the distances of vals from the
// first value. It returns 0 if the divisor is not far above the rounding errors. The parameter
// rounding is the error relative to the largest value.
func commonStep(vals []float64, rounding float64) float64 {
	largest, span, step := 0.0, 0.0, 0.0
	for _, v := range vals {
		largest = max(largest, math.Abs(v))
	}
	for _, v := range vals[1:] {
		d := math.Abs(v - vals[0])
		if d == 0 {
			continue
		}
		span = max(span, d)
		// Euclid's algorithm, extended by the errors of both numbers.
		a, errA := d, largest*rounding
		b, errB := step, errA*step/span
		for b > 8*errB {
			q := math.RoundToEven(a / b)
			a, errA, b, errB = b, errB, math.Abs(a-float64(q*b)), errA+float64(q*errB)
		}
		if a < largest*rounding*leastStep {
			return 0
		}
		step = span / math.RoundToEven(span/a)
	}
	return step
}

// allWhole reports whether all vals, minus offset, are approximately integer multiples of
// step.
func allWhole(vals []float64, offset, step float64) bool {
	for _, v := range vals {
		k := (v - offset) / step
		if math.Abs(k-math.RoundToEven(k)) > nearWhole {
			return false
		}
	}
	return true
}

// around returns the coding close to step that reproduces the most values bit for bit.
func (p *probe) around(offset, step float64) (best coding, ok bool) {
	far := p.floats[0]
	for _, v := range p.floats {
		if math.Abs(v-offset) > math.Abs(far-offset) {
			far = v
		}
	}
	far -= offset
	k := math.RoundToEven(far / step)
	if k == 0 || math.Abs(k) >= exact {
		return best, false
	}
	most := len(p.floats) * 7 / 8
	multiply, divide := far/k, k/far
	for _, i := range []int{0, 1, -1, 2, -2, 3, -3} {
		for _, c := range []coding{{kind: multiplied, by: neighbour(multiply, i), offset: offset}, {kind: divided, by: neighbour(divide, i)}} {
			if c.kind == divided && offset != 0 {
				continue
			}
			if n := p.matches(&c, most); n > most {
				most, best, ok = n, c, true
			}
			if most == len(p.floats) {
				return best, ok
			}
		}
	}
	return best, ok
}

// neighbour returns the float that is i floats above the positive float v.
func neighbour(v float64, i int) float64 {
	return math.Float64frombits(math.Float64bits(v) + uint64(int64(i)))
}

// matches counts the values that a coding reproduces. It may stop early when the count cannot
// exceed most.
func (p *probe) matches(c *coding, most int) (n int) {
	for i, v := range p.floats {
		var back float64
		if c.kind == multiplied {
			back = float64(math.RoundToEven((v-c.offset)/c.by)*c.by) + c.offset
		} else {
			back = math.RoundToEven(v*c.by) / c.by
		}
		if back == v {
			n++
		} else if n+len(p.floats)-1-i <= most {
			break
		}
	}
	return n
}
