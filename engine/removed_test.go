package engine

import (
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/query"
)

// TestARemovedPVIsFound checks that a search finds a PV soon after it was removed from its group,
// although the next checkpoint is an hour away.
func TestARemovedPVIsFound(t *testing.T) {
	st := openStore(t)
	l := launch(t, st, &taps{}, Options{Checkpoint: time.Hour})
	l.Apply(one(0, true, "A", "B"))
	l.source.send("A", 0, 100)
	l.source.send("B", 0, 100)
	eventually(t, "samples are durable", func() bool { return l.Unsaved() == 0 })
	l.source.send("A", 100, 110) // not durable when the PV is removed
	l.Apply(one(0, true, "B"))
	names := &query.Reader{Store: st, Captured: l.Capture().Names, Shards: 4}
	eventually(t, "the removed PV is found", func() bool {
		found, err := names.Names(t.Context(), func(string) bool { return true }, -1)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Equal(found, []string{"A", "B"})
	})
	wantAll(t, l.reader, "A", 110, "after its removal")
	if n := inBlocks(t, st, "B"); n != 0 {
		t.Errorf("%d samples of a PV that is still captured were sealed too", n)
	}
}

// TestAPVOfADeadEngineIsFound kills an engine before its first checkpoint. The samples of its PV are only in its
// journal, and the next engine does not capture the PV any longer. A search must find it soon, although the next
// checkpoint is an hour away.
func TestAPVOfADeadEngineIsFound(t *testing.T) {
	st := openStore(t)
	l := launch(t, st, &taps{}, Options{Checkpoint: time.Hour, Exclusive: true})
	l.Apply(one(0, true, "A"))
	l.source.send("A", 0, 100)
	eventually(t, "samples are durable", func() bool { return l.Unsaved() == 0 })
	l.kill()
	l = launch(t, st, &taps{}, Options{Checkpoint: time.Hour, Exclusive: true})
	l.Apply(one(0, true, "B"))
	names := &query.Reader{Store: st, Captured: l.Capture().Names, Shards: 4}
	eventually(t, "the PV of the dead engine is found", func() bool {
		found, err := names.Names(t.Context(), func(string) bool { return true }, -1)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Equal(found, []string{"A", "B"})
	})
	wantAll(t, l.reader, "A", 100, "after the death of its engine")
}
