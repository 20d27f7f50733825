package agent

import (
	"testing"
	"time"
)

func TestAProcessThatStoodStillCatchesUpFirst(t *testing.T) {
	start := time.Now()
	var s stall
	for _, step := range []struct {
		at   time.Duration
		over bool
		runs time.Duration // how long the look takes
	}{
		{0, true, 0},
		{time.Second, true, 20 * time.Second}, // it subscribes many channels
		{22 * time.Second, true, 0},
		{40 * time.Second, false, 0}, // it was stopped
		{41 * time.Second, false, 0},
		{42 * time.Second, true, 0},
		{43 * time.Second, true, 0},
		{50 * time.Second, false, 0},
		{60 * time.Second, false, 0}, // again
		{62 * time.Second, true, 0},
	} {
		if over := s.over(start.Add(step.at)); over != step.over {
			t.Errorf("at %v: over is %v", step.at, over)
		}
		s.ran(start.Add(step.at + step.runs))
	}
}
