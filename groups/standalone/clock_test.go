package standalone

import (
	"testing"
	"time"
)

// TestATimerFollowsCorrectionsOfTheClock checks that the driver reads the clock at least each minute, because a timer for
// the whole time would not notice that somebody sets the clock.
func TestATimerFollowsCorrectionsOfTheClock(t *testing.T) {
	now := time.Now()
	for ahead, want := range map[time.Duration]time.Duration{
		100 * time.Hour: time.Minute, 61 * time.Second: time.Minute, time.Minute: time.Minute, time.Second: time.Second, 0: 0, -time.Hour: 0,
	} {
		if got := untilNext(now.Add(ahead), now); got != want {
			t.Errorf("%v before the time, the driver waits %v, want %v", ahead, got, want)
		}
	}
}
