package rollup

import (
	"math"
)

// The first byte of the columns of values is a number of decimals if all values are integers
// divided by that power of ten. Otherwise it is anyFloats. The first byte of the columns of
// moments is steps or anyFloats.
const (
	maxDecimals = 15
	steps       = 0xfe
	anyFloats   = 0xff
)

var powers = [maxDecimals + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// four holds the columns First, Last, Min and Max.
type four [4][]float64

// columnsOf collects the four columns. Min and Max come only from bins that have numbers.
func columnsOf(bins []Bin) (c four) {
	for i := range bins {
		b := &bins[i]
		if hasFirst(b) {
			c[0], c[1] = append(c[0], b.First), append(c[1], b.Last)
		}
		if hasNumbers(b) {
			c[2], c[3] = append(c[2], b.Min), append(c[3], b.Max)
		}
	}
	return c
}

// values appends First, Last, Min and Max, then Mean and Std.
func (e *encoder) values(bins []Bin) {
	c := columnsOf(bins)
	if len(c[0]) == 0 {
		return
	}
	if d, ok := decimals(&c); ok {
		e.dst = append(e.dst, byte(d))
		e.decimals(bins, powers[d])
	} else {
		e.dst = append(e.dst, anyFloats)
		for _, v := range c {
			e.floats(v)
		}
	}
	if len(c[2]) > 0 {
		e.moments(bins)
	}
}

// decimals returns the smallest number of decimals with which all values are exact.
func decimals(c *four) (d int, ok bool) {
	for _, column := range c {
		for _, v := range column {
			for !isInteger(v, powers[d]) {
				if d++; d > maxDecimals {
					return 0, false
				}
			}
		}
	}
	for _, column := range c { // a later, larger d may not suit earlier values
		for _, v := range column {
			if !isInteger(v, powers[d]) {
				return 0, false
			}
		}
	}
	return d, true
}

// isInteger reports whether v is, bit for bit, an integer below 2⁵³ divided by p.
func isInteger(v, p float64) bool {
	f := math.RoundToEven(v * p)
	return math.Abs(f) < 1<<53 && math.Float64bits(float64(int64(f))/p) == math.Float64bits(v)
}

// decimals appends the four columns as integers: First, and the distances of the others from
// it.
func (e *encoder) decimals(bins []Bin, p float64) {
	in := func(v float64) int64 { return int64(math.RoundToEven(v * p)) }
	e.some(bins, hasFirst, func(b *Bin) int64 { return in(b.First) })
	e.some(bins, hasFirst, func(b *Bin) int64 { return in(b.Last) - in(b.First) })
	e.some(bins, hasNumbers, func(b *Bin) int64 { return in(b.First) - in(b.Min) })
	e.some(bins, hasNumbers, func(b *Bin) int64 { return in(b.Max) - in(b.First) })
}

// some appends one integer for each bin for which has returns true.
func (e *encoder) some(bins []Bin, has func(*Bin) bool, of func(*Bin) int64) {
	e.scratch = e.scratch[:0]
	for i := range bins {
		if has(&bins[i]) {
			e.scratch = append(e.scratch, of(&bins[i]))
		}
	}
	e.ints(e.scratch)
}

// moments appends Mean and Std of the bins that have numbers.
func (e *encoder) moments(bins []Bin) {
	var means, stds []float64
	var up, wide []int64
	for i := range bins {
		b := &bins[i]
		if !hasNumbers(b) {
			continue
		}
		means, stds = append(means, b.Mean), append(stds, b.Std)
		if m, s, ok := inSteps(b); ok {
			up, wide = append(up, m), append(wide, s)
		}
	}
	if len(up) == len(means) {
		e.dst = append(e.dst, steps)
		e.ints(up)
		e.ints(wide)
		return
	}
	e.dst = append(e.dst, anyFloats)
	e.floats(means)
	e.floats(stds)
}

// inSteps returns Mean − Min and Std as numbers of steps. It returns false if these numbers do
// not restore Mean and Std bit for bit.
func inSteps(b *Bin) (up, wide int64, ok bool) {
	step := stepOf(b.Min, b.Max)
	if step == 0 {
		return 0, 0, b.Mean == b.Min && b.Std == 0
	}
	base, ok1 := stepsIn(b.Min, step)
	m, ok2 := stepsIn(b.Mean, step)
	wide, ok3 := stepsIn(b.Std, step)
	up = m - base
	mean, std := fromSteps(b, up, wide)
	return up, wide, ok1 && ok2 && ok3 && math.Float64bits(mean) == math.Float64bits(b.Mean) && math.Float64bits(std) == math.Float64bits(b.Std)
}

// fromSteps is the inverse of inSteps.
func fromSteps(b *Bin, up, wide int64) (mean, std float64) {
	step := stepOf(b.Min, b.Max)
	if step == 0 {
		return b.Min, 0
	}
	base, _ := stepsIn(b.Min, step)
	return min(max(float64(base+up)*step, b.Min), b.Max), float64(wide) * step
}

// states appends how long the bins of enumerations were in each state.
func (e *encoder) states(bins []Bin) {
	is := func(b *Bin) bool { return b.Kind == Choice }
	e.some(bins, is, func(b *Bin) int64 { return int64(len(b.States)) })
	e.some(bins, is, func(b *Bin) int64 { return b.Rest })
	var states, times []int64
	for i := range bins {
		for _, s := range bins[i].States {
			states, times = append(states, int64(s.State)), append(times, s.Time)
		}
	}
	e.ints(states)
	e.ints(times)
}

// texts appends the texts of the bins of kind Text.
func (e *encoder) texts(bins []Bin) {
	is := func(b *Bin) bool { return b.Kind == Text }
	e.some(bins, is, func(b *Bin) int64 { return int64(len(b.Text)) })
	for i := range bins {
		if is(&bins[i]) {
			e.dst = append(e.dst, bins[i].Text...)
		}
	}
}

// indexes returns the indexes of the bins for which has returns true.
func indexes(bins []Bin, has func(*Bin) bool) (at []int) {
	for i := range bins {
		if has(&bins[i]) {
			at = append(at, i)
		}
	}
	return at
}

// values reads the columns that encoder.values appended.
func (d *decoder) values(bins []Bin) {
	of, numbers := indexes(bins, hasFirst), indexes(bins, hasNumbers)
	if len(of) == 0 {
		return
	}
	var c four
	if mode := d.byte(); mode <= maxDecimals {
		c = d.decimals(bins, of, numbers, powers[mode])
	} else if mode == anyFloats {
		c = four{d.floats(len(of)), d.floats(len(of)), d.floats(len(numbers)), d.floats(len(numbers))}
	} else {
		d.bad = true
	}
	if d.bad {
		return
	}
	for i, k := range of {
		bins[k].First, bins[k].Last = c[0][i], c[1][i]
	}
	for i, k := range numbers {
		bins[k].Min, bins[k].Max = c[2][i], c[3][i]
	}
	if len(numbers) > 0 {
		d.moments(bins, numbers)
	}
}

func (d *decoder) decimals(bins []Bin, of, numbers []int, p float64) (c four) {
	first, last, down, up := d.ints(len(of)), d.ints(len(of)), d.ints(len(numbers)), d.ints(len(numbers))
	if d.bad {
		return c
	}
	out := func(v int64) float64 { return float64(v) / p }
	for i, n := 0, 0; i < len(of); i++ {
		c[0], c[1] = append(c[0], out(first[i])), append(c[1], out(first[i]+last[i]))
		if hasNumbers(&bins[of[i]]) {
			c[2], c[3] = append(c[2], out(first[i]-down[n])), append(c[3], out(first[i]+up[n]))
			n++
		}
	}
	return c
}

func (d *decoder) moments(bins []Bin, numbers []int) {
	switch d.byte() {
	case steps:
		up, wide := d.ints(len(numbers)), d.ints(len(numbers))
		for i, k := range numbers {
			if d.bad {
				return
			}
			bins[k].Mean, bins[k].Std = fromSteps(&bins[k], up[i], wide[i])
		}
	case anyFloats:
		means, stds := d.floats(len(numbers)), d.floats(len(numbers))
		for i, k := range numbers {
			if d.bad {
				return
			}
			bins[k].Mean, bins[k].Std = means[i], stds[i]
		}
	default:
		d.bad = true
	}
}

// states reads the columns that encoder.states appended.
func (d *decoder) states(bins []Bin, width int64) {
	of := indexes(bins, func(b *Bin) bool { return b.Kind == Choice })
	counts, rest := d.ints(len(of)), d.ints(len(of))
	total := int64(0)
	for i := range of {
		if d.bad || counts[i] < 0 || counts[i] > MaxStates || rest[i] < 0 || rest[i] > width {
			d.bad = true
			return
		}
		total += counts[i]
	}
	states, times := d.ints(int(total)), d.ints(int(total))
	if d.bad {
		return
	}
	for i, k := range of {
		b := &bins[k]
		b.Rest = rest[i]
		for range counts[i] {
			if times[0] < 0 || times[0] > width || uint64(states[0]) > math.MaxUint32 {
				d.bad = true
				return
			}
			b.States = append(b.States, StateTime{uint32(states[0]), times[0]})
			states, times = states[1:], times[1:]
		}
	}
}

// texts reads the texts that encoder.texts appended.
func (d *decoder) texts(bins []Bin) {
	of := indexes(bins, func(b *Bin) bool { return b.Kind == Text })
	lengths := d.ints(len(of))
	for i, k := range of {
		if d.bad || lengths[i] < 0 || lengths[i] > MaxText {
			d.bad = true
			return
		}
		bins[k].Text = string(d.next(int(lengths[i])))
	}
}
