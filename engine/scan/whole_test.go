package scan

import (
	"testing"
	"time"

	"varve.dev/varve/engine/store"
)

// TestWholeSince checks the time from which on all samples are there, for PVs that moved from
// tier to tier.
func TestWholeSince(t *testing.T) {
	const day = 24 * int64(time.Hour)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixNano()
	bucket := func(size store.BucketSize, r store.Tier, before int64) store.Bucket {
		return size.Of(now - before).In(r)
	}
	for _, c := range []struct {
		name   string
		starts []store.Bucket
		want   int64
	}{
		{"nothing", nil, Earliest},
		{"forever", []store.Bucket{bucket(store.Year, store.Forever, 0)}, Earliest},
		{"a shorter tier, for less than it keeps", []store.Bucket{
			bucket(store.Year, store.Forever, 30*day), bucket(store.Hour, store.Keep7d, 7*day-1), bucket(store.Hour, store.Keep7d, 0),
		}, now - 7*day},
		{"a shorter tier, of which the copies begin later", []store.Bucket{
			bucket(store.Year, store.Forever, 30*day), bucket(store.Hour, store.Keep7d, 3*day),
		}, now - 7*day},
		{"a longer tier, whose bucket begins earlier", []store.Bucket{
			bucket(store.Year, store.Keep10y, 0), bucket(store.Month, store.Keep5y, 0),
		}, now - 5*365*day},
	} {
		if got := WholeSince(c.starts, now); got != c.want {
			t.Errorf("%s: the samples are complete since %v, want %v", c.name, time.Unix(0, got).UTC(), time.Unix(0, c.want).UTC())
		}
	}
}
