package query

import (
	"math"

	"varve.dev/varve/engine/sample"
)

// widened reports whether two samples have the same value, but that of the other archive has a wider type. own and
// other are runs with one sample each. JSON archive access has only int64 and float64, and an array with one element
// looks like a scalar there.
func widened(own, other *sample.Run) bool {
	wide := func(t sample.Type) bool { return t.Elem() == sample.Int64 || t.Elem() == sample.Float64 }
	if !wide(other.Type) && own.Type.Elem() != other.Type.Elem() || own.Type.ElemSize() == 0 || other.Type.ElemSize() == 0 {
		return false
	}
	n := elements(own)
	if n != elements(other) || n > 1 && !other.Type.IsArray() {
		return false
	}
	for i := range n {
		if !sameElement(own.Type.Elem(), wordOf(own, i), other.Type.Elem(), wordOf(other, i)) {
			return false
		}
	}
	return true
}

// elements returns the number of elements of the only sample of a run.
func elements(r *sample.Run) int {
	if r.Type.Fixed() {
		return 1
	}
	return len(r.Value(0)) / r.Type.ElemSize()
}

// wordOf returns element i of the only sample of a run.
func wordOf(r *sample.Run, i int) uint64 {
	if r.Type.Fixed() {
		return r.Words[0]
	}
	return sample.Word(r.Type, r.Value(0), i)
}

// sameElement reports whether an element of a type is that of a wider type.
func sameElement(t sample.Type, w uint64, wider sample.Type, v uint64) bool {
	switch {
	case t == wider:
		return w == v
	case t == sample.Float32 && wider == sample.Float64: // the text of a float32 may have its digits only
		f := sample.Float(t, w)
		g := math.Float64frombits(v)
		return f == float64(float32(g)) || math.IsNaN(f) && math.IsNaN(g)
	}
	whole := t == sample.Bool || t >= sample.Int8 && t <= sample.Int64 || t == sample.Uint64 && w <= math.MaxInt64
	return wider == sample.Int64 && whole && w == v
}
