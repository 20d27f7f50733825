package v1alpha1

import (
	"testing"
	"time"
)

func TestDurationsAreParsed(t *testing.T) {
	for s, want := range map[Duration]time.Duration{
		"0s":         0,
		"100ms":      100 * time.Millisecond,
		"010s":       10 * time.Second,
		"5m":         5 * time.Minute,
		"48h":        48 * time.Hour,
		"90d":        90 * 24 * time.Hour,
		"2w":         14 * 24 * time.Hour,
		"2y":         730 * 24 * time.Hour,
		"292y":       292 * 365 * 24 * time.Hour,
		"106751991m": 106751991 * time.Minute,
	} {
		if got, err := s.TimeDuration(); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", s, got, err, want)
		}
	}
}

func TestInvalidDurationsAreRefused(t *testing.T) {
	for _, s := range []Duration{
		"", "s", "10", "-1s", "+1s", "1.5h", "10 s", "1h30m", "10S", "10us", "10min", "1_0s", "٣s",
		"293y", "9223372036854775807s", "99999999999999999999s",
	} {
		if got, err := s.TimeDuration(); err == nil {
			t.Errorf("%q: got %v, want an error", s, got)
		}
	}
}

func FuzzDuration(f *testing.F) {
	for _, s := range []string{"90d", "2y", "9223372036854775807ms", "ms", "0", "1h30m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Duration(s).TimeDuration()
		if err == nil && d < 0 {
			t.Errorf("%q is negative: %v", s, d)
		}
	})
}
