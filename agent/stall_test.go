package agent

import (
	"testing"
	"time"
)

func TestAStalledProcessCatchesUpBeforeItReconciles(t *testing.T) {
	start := time.Now()
	var s stallDetector
	for _, step := range []struct {
		at       time.Duration
		caughtUp bool
		runs     time.Duration // how long the reconciliation takes
	}{
		{0, true, 0},
		{time.Second, true, 20 * time.Second}, // a long reconciliation, not a stall
		{22 * time.Second, true, 0},
		{40 * time.Second, false, 0}, // the process was suspended
		{41 * time.Second, false, 0},
		{42 * time.Second, true, 0},
		{43 * time.Second, true, 0},
		{50 * time.Second, false, 0},
		{60 * time.Second, false, 0}, // suspended again
		{62 * time.Second, true, 0},
	} {
		if caughtUp := s.caughtUp(start.Add(step.at)); caughtUp != step.caughtUp {
			t.Errorf("at %v: caughtUp is %v", step.at, caughtUp)
		}
		s.ran(start.Add(step.at + step.runs))
	}
}
