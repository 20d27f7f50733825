package plan

import (
	"strings"
	"testing"
	"time"
)

func parseTime(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestTimes compares the next and the latest time of schedules with what a calendar says.
func TestTimes(t *testing.T) {
	for _, c := range []struct {
		name, schedule, zone, after, now string
		next, latest                     string // after now; after "after" and not after now
	}{
		{"every day", "30 1 * * *", "", "2026-11-25T00:00:00Z", "2026-11-27T01:29:59Z", "2026-11-27T01:30:00Z", "2026-11-26T01:30:00Z"},
		{"at the time itself", "30 1 * * *", "UTC", "2026-11-26T01:30:00Z", "2026-11-27T01:30:00Z", "2026-11-28T01:30:00Z", "2026-11-27T01:30:00Z"},
		{"not due", "30 1 * * *", "", "2026-11-27T01:30:00Z", "2026-11-27T13:00:00Z", "2026-11-28T01:30:00Z", ""},
		{"in a time zone", "30 1 * * *", "Europe/Berlin", "2026-11-25T00:00:00Z", "2026-11-26T12:00:00Z", "2026-11-27T00:30:00Z", "2026-11-26T00:30:00Z"},
		{"summer time begins: 02:30 does not exist", "30 2 * * *", "Europe/Berlin", "2027-03-26T00:00:00Z", "2027-03-27T12:00:00Z", "2027-03-29T00:30:00Z", "2027-03-27T01:30:00Z"},
		{"summer time ends: 02:30 comes first", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:29:00Z", "2026-10-25T00:30:00Z", ""},
		{"summer time ends: 02:30 comes again", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T00:40:00Z", "2026-10-25T01:30:00Z", ""},
		{"away for years", "*/1 * * * *", "", "2019-01-01T00:00:00Z", "2026-11-27T13:00:30Z", "2026-11-27T13:01:00Z", "2026-11-27T13:00:00Z"},
		{"away for years, once a year", "0 0 1 1 *", "", "2019-06-01T00:00:00Z", "2026-11-27T13:00:30Z", "2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z"},
		{"29 February", "0 3 29 2 *", "", "2023-01-01T00:00:00Z", "2026-11-27T13:00:00Z", "2028-02-29T03:00:00Z", "2024-02-29T03:00:00Z"},
		{"on Sundays", "15 4 * * sun", "", "2026-11-20T00:00:00Z", "2026-11-27T13:00:00Z", "2026-11-29T04:15:00Z", "2026-11-22T04:15:00Z"},
	} {
		now := parseTime(t, c.now)
		times, err := ParseTimes(c.schedule, c.zone, now)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := times.Next(now); !got.Equal(parseTime(t, c.next)) {
			t.Errorf("%s: the next time is %v, want %s", c.name, got, c.next)
		}
		if got := times.Latest(parseTime(t, c.after), now); !got.Equal(parseTime(t, c.latest)) {
			t.Errorf("%s: the latest time is %v, want %s", c.name, got, c.latest)
		}
	}
}

func TestWrongSchedulesAreExplained(t *testing.T) {
	for _, c := range []struct{ schedule, zone, want string }{
		{"30 25 * * *", "", "spec.schedule: end of range (25) above maximum (23)"},
		{"30 1 * *", "", "does not have five fields, such as 30 1 * * *"},
		{"@every 1s", "", "does not have five fields"},
		{"TZ=UTC 1 * * *", "", "does not have five fields"},
		{"0 0 31 2 *", "", "never occurs"},
		{"30 1 * * *", "Europe/Atlantis", `spec.timeZone: there is no time zone "Europe/Atlantis": write a name such as Europe/Berlin`},
		{"30 1 * * *", "Local", "spec.timeZone"},
		{"30 1 * * *", "../../etc/passwd", "spec.timeZone"},
		{"30 1 * * foo", "", "spec.schedule: failed to parse"},
	} {
		if _, err := ParseTimes(c.schedule, c.zone, time.Unix(1795000000, 0)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in %q: %v; want %s", c.schedule, c.zone, err, c.want)
		}
	}
}
