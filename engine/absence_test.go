package engine

import (
	"fmt"
	"testing"
	"time"
)

// TestRemovalsAndStopsAreMarked checks that a PV that is in no group any more has a mark, that an
// orderly stop of an archiver that is alone has one, and that a move to another engine or to
// another shard has none.
func TestRemovalsAndStopsAreMarked(t *testing.T) {
	st := openStore(t)
	alone := launch(t, st, &taps{}, Options{Checkpoint: time.Hour, Exclusive: true, Alone: true})
	assign := func(l *life, remove bool, a Assignment) {
		for i, s := range a {
			s.MarkRemoved = remove
			a[i] = s
		}
		l.Apply(a)
	}
	assign(alone, true, allOf("A", "B", "C", "D"))
	assign(alone, true, allOf("B", "A", "C")) // A and B change their shards, D is removed
	alone.end()
	check := func(when string, want map[string]string) {
		t.Helper()
		for pv, kinds := range want {
			if got := fmt.Sprint(marks(t, st, pv)); got != kinds {
				t.Errorf("%s: marks of %s are %s, want %s", when, pv, got, kinds)
			}
		}
	}
	check("after the stop", map[string]string{"A": "[stopped]", "B": "[stopped]", "C": "[stopped]", "D": "[removed]"})

	one := launch(t, st, &taps{}, Options{Checkpoint: time.Hour})
	assign(one, false, allOf("A", "B", "E"))
	assign(one, false, allOf("E")) // the caller does not know whether A and B are elsewhere
	assign(one, false, Assignment{})
	one.end()
	check("after the moves", map[string]string{"A": "[stopped]", "B": "[stopped]", "E": "[]"})
}
