package layout

import (
	"math"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Limits of a block. A block is full when it reaches either of them. A value larger than FullBytes has a block of its own.
const (
	FullSamples = 4096
	FullBytes   = 64 << 10
)

// Fits returns how many of the samples from (inclusive) to to (exclusive) of a run fit into one block, but at least 1.
func Fits(r *sample.Run, from, to int) int {
	n := min(to-from, FullSamples)
	if r.Type.Fixed() {
		return n
	}
	for i, size := 0, 0; i < n; i++ {
		if size += len(r.Value(from + i)); size > FullBytes && i > 0 {
			return i
		}
	}
	return n
}

// Encode returns a block of samples from (inclusive) to to (exclusive) of a run.
func Encode(key store.BlockKey, r *sample.Run, from, to int) store.Block {
	part := r
	if from > 0 || to < r.Len() {
		part = new(sample.Run)
		r.Part(part, from, to)
	}
	b := store.Block{
		BlockKey: key, End: r.Times[to-1], Count: to - from, Type: r.Type, Blob: block.AppendStored(nil, part),
	}
	b.Min, b.Max, b.Sum = aggregates(part)
	return b
}

// EncodeCarriedForward returns a block with one carried-forward sample. The Count of the block
// is 0.
func EncodeCarriedForward(key store.BlockKey, r *sample.Run) store.Block {
	nan := math.NaN()
	return store.Block{BlockKey: key, End: r.Times[0], Type: r.Type, Min: nan, Max: nan, Sum: nan, Blob: block.AppendStored(nil, r)}
}

// aggregates returns the minimum, maximum and sum of the values that are numbers, or NaN if
// there is none.
func aggregates(r *sample.Run) (low, high, sum float64) {
	if !r.Type.Numeric() {
		return math.NaN(), math.NaN(), math.NaN()
	}
	low, high, n := math.Inf(1), math.Inf(-1), 0
	for i := range r.Len() {
		v := r.Float(i)
		if math.IsNaN(v) {
			continue
		}
		n++
		low, high, sum = min(low, v), max(high, v), sum+v
	}
	if n == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	return low, high, sum
}
