package cassandra

import (
	"slices"
	"testing"

	"varve.dev/varve/engine/store"
)

// TestADamagedRangeHidesNothing decodes elements that no program writes, among others.
func TestADamagedRangeHidesNothing(t *testing.T) {
	want := []store.Deleted{{From: -3, To: 5}, {From: 7, To: 9, Done: true}}
	elements := encodeDeleted(want)
	other := slices.Clone(elements[0])
	other[16] = 2
	elements = append(elements, nil, elements[0][:16], append(slices.Clone(elements[0]), 0), other)
	if got, damaged := decodeDeleted(elements); !slices.Equal(got, want) || damaged != 4 {
		t.Errorf("the ranges are %v, and %d are damaged", got, damaged)
	}
}
