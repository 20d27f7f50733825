package query

import (
	"math"
	"testing"

	"varve.dev/varve/engine/sample"
)

// TestWidenedSamplesAreOne compares samples with what an archive with fewer types has of them.
func TestWidenedSamplesAreOne(t *testing.T) {
	word := func(typ sample.Type, w uint64) *sample.Run {
		r := &sample.Run{Type: typ}
		r.Append(&sample.Sample{Word: w})
		return r
	}
	bytes := func(typ sample.Type, b ...byte) *sample.Run {
		r := &sample.Run{Type: typ}
		r.Append(&sample.Sample{Bytes: b})
		return r
	}
	minus := int64(-7)
	f32 := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	for _, c := range []struct {
		own, other *sample.Run
		want       bool
	}{
		{word(sample.Int16, uint64(minus)), word(sample.Int64, uint64(minus)), true},
		{word(sample.Uint32, 7), word(sample.Int64, 7), true},
		{word(sample.Bool, 1), word(sample.Int64, 1), true},
		{word(sample.Uint64, 1<<63), word(sample.Int64, 1<<63), false},
		{word(sample.Int16, 7), word(sample.Int64, 8), false},
		{word(sample.Int16, 7), word(sample.Int32, 7), false},
		{word(sample.Float32, f32(1.1)), word(sample.Float64, math.Float64bits(1.1)), true},
		{word(sample.Float32, f32(1.1)), word(sample.Float64, math.Float64bits(float64(float32(1.1)))), true},
		{word(sample.Float32, f32(1.1)), word(sample.Float64, math.Float64bits(1.2)), false},
		{word(sample.Int32, 1), word(sample.Float64, math.Float64bits(1)), false},
		{bytes(sample.Int16.Array(), 1, 0, 2, 0), bytes(sample.Int64.Array(), 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0), true},
		{bytes(sample.Int16.Array(), 1, 0, 2, 0), bytes(sample.Int64.Array(), 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0), false},
		{bytes(sample.Int16.Array(), 1, 0), word(sample.Int64, 1), true},
		{bytes(sample.Int16.Array(), 1, 0, 2, 0), word(sample.Int64, 1), false},
		{bytes(sample.Int16.Array()), bytes(sample.Int64.Array()), true},
		{bytes(sample.String, 'a'), word(sample.Int64, 'a'), false},
		{word(sample.Int64, 'a'), bytes(sample.String, 'a'), false},
	} {
		if got := hasSample([]*sample.Run{c.own}, c.other); got != c.want {
			t.Errorf("%v and %v are one sample: %t", c.own, c.other, got)
		}
	}
}
