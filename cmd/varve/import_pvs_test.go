package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMissingPVs checks which lines of a file of PVs a source lacks.
func TestMissingPVs(t *testing.T) {
	pvs := []string{"SR01:BPM", "SR01:DCCT"}
	lines := []string{"SR01:DCCT", "SR01:HOM", "SR02:*", "SR01:*", "SR02:DCCT", "SR01:HOM"}
	for pattern, want := range map[string][]string{
		"*":      {"SR01:HOM", "SR02:*", "SR02:DCCT"},
		"SR01:*": {"SR01:HOM"}, // the pattern excludes the PVs of SR02
	} {
		s := pvSelection{pattern: pattern, lines: lines}
		if diff := cmp.Diff(want, s.missing(pvs)); diff != "" {
			t.Errorf("--pv %s: %s", pattern, diff)
		}
	}
}
