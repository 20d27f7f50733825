package standalone

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine"
	"varve.dev/varve/engine/serve/audit"
	"varve.dev/varve/groups/compile"
)

// TestDeletionsAreCarriedOut checks that an order is tried again until it is done, that people and the audit log learn of
// it once, and that it is not repeated afterwards.
func TestDeletionsAreCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []engine.Deletion
		var lines []audit.Entry
		answers := []struct {
			engine.Erased
			err error
		}{
			{err: errors.New("the store is away")},
			{Erased: engine.Erased{Hidden: 2, New: 2, Unknown: 1}},
			{Erased: engine.Erased{Hidden: 2, Removed: 1, Unknown: 1}},
			{Erased: engine.Erased{Hidden: 2, Removed: 2, Unknown: 1}},
		}
		d := &Driver{
			Log:   slog.New(slog.DiscardHandler),
			Audit: func(e *audit.Entry) { lines = append(lines, *e) },
			Erase: func(_ context.Context, o engine.Deletion) (engine.Erased, error) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, o)
				a := answers[min(len(got), len(answers))-1]
				return a.Erased, a.err
			},
		}
		d.eraser = newEraser(d)
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		go d.eraser.run(ctx)
		order := compile.Erasure{
			Group: "lab/a", Index: 3, PVs: []string{"A", "B", "TYPO"}, Reason: "bad calibration",
			From: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).UnixNano(), To: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC).UnixNano() - 1,
		}
		d.eraser.order([]compile.Erasure{order})
		const what = "deletions[3], samples from 2026-01-02T00:00:00Z to 2026-01-03T00:00:00Z of 3 PVs"
		for i, want := range []string{
			": not done: the store is away",
			": no reader sees the samples any longer; they are removed from disk for 0 of 2 PVs; 1 PVs are not in the archive",
			": no reader sees the samples any longer; they are removed from disk for 1 of 2 PVs; 1 PVs are not in the archive",
			": done; 1 PVs are not in the archive",
			": done; 1 PVs are not in the archive",
		} {
			synctest.Wait()
			problems := d.deletionsLocked("lab/a")
			if len(problems) != 1 || problems[0].Text != what+want {
				t.Errorf("pass %d: %+v, want %q", i, problems, what+want)
			}
			time.Sleep(eraseEvery)
			if i == 3 {
				d.eraser.order([]compile.Erasure{order}) // another edit of the files
			}
		}
		if len(d.deletionsLocked("lab/b")) != 0 {
			t.Error("another group has deletions")
		}
		if len(got) != len(answers) || strings.Join(got[0].PVs, " ") != "A B TYPO" || got[0].From != order.From || got[0].To != order.To || got[0].Group != "lab/a" || got[0].Reason != order.Reason {
			t.Errorf("%d calls, the first %+v", len(got), got)
		}
		if len(lines) != 1 || lines[0].User != "lab/a" || lines[0].Call != "deletions[3]" || lines[0].From != "2026-01-02T00:00:00Z" ||
			lines[0].To != "2026-01-03T00:00:00Z" || lines[0].Reason != "samples of 2 PVs deleted: bad calibration" {
			t.Errorf("audit log: %+v", lines)
		}
	})
}
