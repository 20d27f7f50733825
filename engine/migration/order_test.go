package migration

import (
	"fmt"
	"slices"
	"testing"

	"varve.dev/varve/engine/pvname"
)

// TestFewShardsAreImportedAtATime checks that the order of PVs has each PV once, and that the PVs of at most four shards
// are mixed.
func TestFewShardsAreImportedAtATime(t *testing.T) {
	var pvs []string
	for i := range 1000 {
		pvs = append(pvs, fmt.Sprintf("PV:%d", i))
	}
	ordered, used := byShard(pvs, 64)
	if len(used) != 64 || len(ordered) != len(pvs) {
		t.Fatalf("%d PVs of %d shards", len(ordered), len(used))
	}
	at := map[int][2]int{} // first and last place of a shard
	for i, pv := range ordered {
		shard := pvname.Shard(pv, 64)
		if _, seen := at[shard]; !seen {
			at[shard] = [2]int{i, i}
		}
		at[shard] = [2]int{at[shard][0], i}
	}
	for i := range ordered {
		n := 0
		for _, places := range at {
			if places[0] <= i && i <= places[1] {
				n++
			}
		}
		if n > 4 {
			t.Fatalf("at place %d, %d shards are mixed", i, n)
		}
	}
	slices.Sort(ordered)
	slices.Sort(pvs)
	if !slices.Equal(ordered, pvs) {
		t.Error("the order lacks PVs")
	}
}
