package migration

import (
	"fmt"
	"time"
)

// InZone returns the time at which clocks in a zone show the date and the time of day that t has in UTC. It fails if the
// clocks skip that time in spring, or show it twice in autumn.
func InZone(t time.Time, zone *time.Location) (time.Time, error) {
	t = t.UTC()
	out := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone)
	if shown(out) != shown(t) {
		return out, fmt.Errorf("%s, which clocks in %s have skipped", shown(t), zone)
	}
	// Clocks are set back by at most three hours. For example, Antarctica/Troll sets them back by two.
	for _, by := range []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour} {
		if shown(out.Add(by)) == shown(out) || shown(out.Add(-by)) == shown(out) {
			return out, fmt.Errorf("%s, which clocks in %s have shown twice", shown(t), zone)
		}
	}
	return out, nil
}

func shown(t time.Time) string { return t.Format("2006-01-02 15:04:05") }
