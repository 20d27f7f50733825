package layout

import (
	"math"
	"testing"

	"varve.dev/varve/engine/layout/layouttest"
	"varve.dev/varve/engine/sample"
)

func TestAggregates(t *testing.T) {
	r := layouttest.Numbers(1, 2, 3, 5)
	r.Words[1] = math.Float64bits(math.NaN())
	if low, high, sum := aggregates(r); low != 1 || high != 5 || sum != 9 {
		t.Errorf("min %v, max %v, sum %v", low, high, sum)
	}
	for _, r := range []*sample.Run{{Type: sample.Enum, Times: []int64{1}, Words: []uint64{1}}, {Type: sample.String}} {
		if low, _, _ := aggregates(r); !math.IsNaN(low) {
			t.Errorf("%v has a minimum of %v", r.Type, low)
		}
	}
}
