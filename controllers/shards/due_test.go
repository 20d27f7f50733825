package shards

import (
	"testing"
	"time"
)

// TestACompilationIsDueWhenItsResultChanges checks that groups are compiled again at the time at which a channel
// expires, or a planned pause begins or ends, and not before.
func TestACompilationIsDueWhenItsResultChanges(t *testing.T) {
	now := time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		expiry time.Time
		due    bool
		until  time.Duration
	}{
		{time.Time{}, false, 0},
		{now.Add(time.Second), false, time.Second},
		{now, true, time.Millisecond},
		{now.Add(-time.Hour), true, time.Millisecond},
	} {
		compiled := &compilation{expiry: c.expiry}
		if due, until := compiled.isDue(now), compiled.untilChange(now); due != c.due || until != c.until {
			t.Errorf("with a change at %v, at %v: due %v, again after %v", c.expiry, now, due, until)
		}
	}
}
