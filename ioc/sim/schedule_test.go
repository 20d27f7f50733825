package sim

import (
	"testing"
	"time"
)

func TestScheduleSpreadsAPeriod(t *testing.T) {
	for _, c := range []struct {
		rate   float64
		slices int64
	}{{10, 10}, {100, 1}, {1000, 1}, {1, 100}, {3, 33}, {0.01, 1000}} {
		s := NewSchedule(time.Now(), c.rate)
		if s.slices != c.slices {
			t.Errorf("%v Hz: %d slices, want %d", c.rate, s.slices, c.slices)
		}
		for turn := s.slices; turn < 5*s.slices; turn++ {
			due := s.Due(turn)
			if s.Next(due) != turn+1 || s.Next(due-1) != turn {
				t.Fatalf("%v Hz: turn %d is due at %d, but the next turn then is %d, and just before it is %d", c.rate, turn, due, s.Next(due), s.Next(due-1))
			}
			if later := s.Due(turn + s.slices); later != due+s.period {
				t.Fatalf("%v Hz: turn %d is repeated after %d", c.rate, turn, later-due)
			}
		}
	}
}

func TestEveryPVHasAValueAtTheStart(t *testing.T) {
	now := time.Now()
	s := NewSchedule(now, 0.1)
	last := s.Next(int64(now.Sub(s.start))) - 1
	if tick := last / s.slices; tick != 1 {
		t.Errorf("the server starts at tick %d, want 1", tick)
	}
	if at := s.Unix(s.Due(last)); at != now.UnixNano() {
		t.Errorf("the time of its first turn is wrong by %d ns", at-now.UnixNano())
	}
}
