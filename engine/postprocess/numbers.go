package postprocess

import (
	"math"

	"varve.dev/varve/engine/sample"
)

// hasNumbers reports whether values of a type are numbers or arrays of numbers.
func hasNumbers(t sample.Type) bool { return t.Valid() && t.Elem() < sample.String }

// number returns sample i as a number. An array counts as its first element, and an empty
// array as NaN. The run must be of a type that has numbers.
func number(r *sample.Run, i int) float64 {
	if r.Type.Fixed() {
		return r.Float(i)
	}
	if v := r.Value(i); len(v) >= r.Type.ElemSize() {
		return sample.Float(r.Type.Elem(), sample.Word(r.Type, v, 0))
	}
	return math.NaN()
}

// appendNumbers appends the numbers of samples i to j (exclusive), except NaN.
func appendNumbers(dst []float64, r *sample.Run, i, j int) []float64 {
	if r.Type != sample.Float64 {
		for ; i < j; i++ {
			if v := number(r, i); !math.IsNaN(v) {
				dst = append(dst, v)
			}
		}
		return dst
	}
	for _, w := range r.Words[i:j] {
		if v := math.Float64frombits(w); !math.IsNaN(v) {
			dst = append(dst, v)
		}
	}
	return dst
}

// worst returns the worst severity of some tags.
func worst(tags []sample.Tag) sample.Severity {
	var all sample.Tag
	for _, t := range tags {
		all |= t
	}
	if all.Severity() == sample.NoAlarm {
		return sample.NoAlarm
	}
	sev := sample.NoAlarm
	for _, t := range tags {
		sev = max(sev, t.Severity())
	}
	return sev
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
