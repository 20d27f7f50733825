package moment

import (
	"strings"
	"testing"
	"time"
)

// berlin has daylight saving time: on 2026-03-29, 02:00 is followed by 03:00.
func berlin(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestParse(t *testing.T) {
	zone := berlin(t)
	now := time.Date(2026, 3, 31, 12, 30, 15, 500, zone)
	p := Parser{Now: now, Zone: zone}
	at := func(year int, month time.Month, day, hour, minute int) time.Time {
		return time.Date(year, month, day, hour, minute, 0, 0, zone)
	}
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"now": now, " now ": now, "now-15m": now.Add(-15 * time.Minute), "now+1h": now.Add(time.Hour),
		"-15m": now.Add(-15 * time.Minute), "-15min": now.Add(-15 * time.Minute), "+1h": now.Add(time.Hour),
		"-1h30m": now.Add(-90 * time.Minute), "-0.5h": now.Add(-30 * time.Minute), "-250ms": now.Add(-250 * time.Millisecond),
		"-1d": now.Add(-24 * time.Hour), "-2w": now.Add(-14 * 24 * time.Hour),
		"-1mo": time.Date(2026, 2, 28, 12, 30, 15, 500, zone), "-1y": time.Date(2025, 3, 31, 12, 30, 15, 500, zone),
		"-1y2mo": time.Date(2025, 1, 31, 12, 30, 15, 500, zone),
		"today":  at(2026, 3, 31, 0, 0), "yesterday": at(2026, 3, 30, 0, 0), "yesterday 14:00": at(2026, 3, 30, 14, 0),
		"14:00": at(2026, 3, 31, 14, 0), "9:05": at(2026, 3, 31, 9, 5), "14:00 UTC": time.Date(2026, 3, 31, 14, 0, 0, 0, time.UTC),
		"2026-03-29": at(2026, 3, 29, 0, 0), "2026-03-29T01:59": at(2026, 3, 29, 1, 59), "2026-03-29 03:00": at(2026, 3, 29, 3, 0),
		"2026-01-31T12:00Z": noon, "2026-01-31T12:00:00Z": noon, "2026-01-31T13:00:00+01:00": noon, "2026-01-31T13:00:00+0100": noon,
		"2026-01-31T13:00+01": noon, "2026-01-31 05:00:00 -07:00": noon, "2026-01-31T13:00 Europe/Berlin": noon,
		"2026-01-31T12:00:00.123456789Z": noon.Add(123456789),
		"1769860800":                     noon, "1769860800.5": noon.Add(time.Second / 2), "1769860800123": noon.Add(123 * time.Millisecond),
		"1769860800123456": noon.Add(123456 * time.Microsecond), "1769860800123456789": noon.Add(123456789),
	} {
		if got, err := p.Parse(text); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}

// TestErrors checks that an error quotes the text and helps to write it correctly.
func TestErrors(t *testing.T) {
	local := Parser{Now: time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC), Zone: time.UTC}
	zoned := Parser{Now: local.Now}
	for _, c := range []struct {
		p          *Parser
		text, says string
	}{
		{&local, "1h", "did you mean -1h"},
		{&local, "", "-15m or yesterday"},
		{&local, "soon", "-15m or yesterday"},
		{&local, "-1 fortnight", "not a time"},
		{&local, "2026-02-30", "no such day"},
		{&local, "25:00", "no such day or time"},
		{&local, "14:00 Europe/Paradise", "no time zone Europe/Paradise"},
		{&local, "-0.5mo", "whole numbers"},
		{&local, "-400y", "300 years"},
		{&local, "-99999999999999999999h", "300 years"},
		{&local, "12345", "at least 9 digits"},
		{&local, "1769860800123.5", "fraction"},
		{&local, strings.Repeat("1", 200), "200 characters"},
		{&zoned, "2026-01-31T12:00:00", "no zone"},
		{&zoned, "today", "no zone"},
		{&zoned, "14:00", "no zone"},
		{&zoned, "soon", "2026-03-01T08:00:00Z"},
	} {
		_, err := c.p.Parse(c.text)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q returns the error %v, which does not say %q", c.text, err, c.says)
		}
	}
}

// FuzzParse checks that each text is refused, or names a time within the bounds that readers
// accept or refuse by their own rules.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"now", "-1y2mo", "yesterday 14:00", "2026-01-31T13:00 Europe/Berlin", "1769860800.5", "9:05", "+1h", "today+01"} {
		f.Add(text)
	}
	p := Parser{Now: time.Unix(1767225600, 0), Zone: time.UTC}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := p.Parse(text)
		if err != nil {
			return
		}
		again, err := p.Parse(got.UTC().Format("2006-01-02T15:04:05.999999999Z"))
		if year := got.UTC().Year(); year >= 0 && year <= 9999 && (err != nil || !again.Equal(got)) {
			t.Errorf("%q is %v, whose text is %v, %v", text, got, again, err)
		}
	})
}
