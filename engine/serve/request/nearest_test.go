package request

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestNearestFindsWhatAComparisonOfAllFinds compares Nearest with the changes to each of many random names.
func TestNearestFindsWhatAComparisonOfAllFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	found := 0
	for range 1000 {
		var names []string
		for range 60 {
			names = append(names, pick(rng, 7, "A", "a", "B", ":", "SR", "ü", "Ü", "İ", "1"))
		}
		name, limit := names[0]+pick(rng, 2, "A", "b", "ü"), 1+rng.IntN(5)
		n := NewNearest(name, limit)
		var want []candidate
		for _, other := range names {
			if n.Add(other) {
				t.Fatal("Add returns true")
			}
			short, of := len(name)-len(other), changes(strings.ToLower(name), strings.ToLower(other))
			if most := max(1, len(name)/3); max(short, -short, of) <= most {
				c := candidate{name: other, changes: 2 * of}
				if of == 0 && other != name {
					c.changes = 1
				}
				want = append(want, c)
			}
		}
		slices.SortFunc(want, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(a.changes, b.changes), cmp.Compare(a.name, b.name))
		})
		want = slices.Compact(want)
		want = want[:min(limit, len(want))]
		if !slices.Equal(n.found, want) {
			t.Fatalf("the names nearest to %q are %v, want %v", name, n.found, want)
		}
		found += len(want)
	}
	if found < 500 {
		t.Errorf("only %d names were near", found)
	}
}
