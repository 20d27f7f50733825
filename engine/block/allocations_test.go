//go:build !race

package block

import (
	"testing"

	"varve.dev/varve/engine/sample"
)

// The race detector makes a sync.Pool drop items on purpose, so this test is not built with
// it.

// TestNoAllocations checks that encoding and decoding allocate nothing in steady state, in all
// forms.
func TestNoAllocations(t *testing.T) {
	for name, r := range forms() {
		if name == "planes" { // uses zstd, which may allocate
			continue
		}
		blob := Append(make([]byte, 0, 1<<16), r)
		var run sample.Run
		if n := testing.AllocsPerRun(20, func() { blob = Append(blob[:0], r) }); n > 0 {
			t.Errorf("%s: %v allocations to encode", name, n)
		}
		if n := testing.AllocsPerRun(20, func() {
			run.Reset(r.Type)
			if err := Decode(&run, blob); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations to decode", name, n)
		}
	}
}
