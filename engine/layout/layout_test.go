package layout

import (
	"testing"
	"time"

	"varve.dev/varve/engine/store"
)

const (
	hour = int64(time.Hour)
	noon = 1_700_006_400 * int64(time.Second) // a full hour
)

func TestBucketSizes(t *testing.T) {
	for _, tc := range []struct {
		perSecond, bytes float64
		want             store.BucketSize
	}{
		{1. / 86400 / 30, 60, store.Year}, {0.01, 10, store.Year}, {0.1, 5, store.Year}, {1, 5, store.Month},
		{10, 5, store.Day}, {100, 3, store.Hour}, {10000, 3, store.Hour},
	} {
		rate := tc.perSecond * tc.bytes
		if got := ChooseSize(rate, store.Year); got != tc.want {
			t.Errorf("%g samples/s of %g bytes: %v, want %v", tc.perSecond, tc.bytes, got, tc.want)
		}
	}
	if got := ReviseSize(store.Year, 1000, false, store.Year); got != store.Hour {
		t.Errorf("a PV whose rate is too high for buckets of a year stays in buckets of a %v", got)
	}
	if got := ReviseSize(store.Day, 5, false, store.Year); got != store.Day {
		t.Errorf("the bucket size changes to %v before the bucket ends", got)
	}
	if got := ReviseSize(store.Hour, 4, true, store.Year); got != store.Month {
		t.Errorf("a PV with a low rate continues with buckets of a %v", got)
	}
}

func TestTiersInUse(t *testing.T) {
	all := make([]store.Tier, store.NumTiers)
	for i := range all {
		all[i] = store.Tier(i)
	}
	for _, tc := range []struct {
		has        []store.Tier
		want, gets store.Tier
	}{
		{all, store.Keep7d, store.Keep7d}, {all, store.Forever, store.Forever}, {nil, store.Keep7d, store.Forever},
		{[]store.Tier{store.Forever, store.Keep1d, store.Keep90d, store.Keep1y}, store.Keep7d, store.Keep90d},
		{[]store.Tier{store.Forever, store.Keep1d}, store.Keep7d, store.Forever},
	} {
		if got := AvailableTier(tc.has, tc.want); got != tc.gets {
			t.Errorf("a store with the tiers %v keeps data of tier %v on tier %v, want %v", tc.has, tc.want, got, tc.gets)
		}
	}
	year := 365 * 24 * hour
	for _, tc := range []struct {
		starts []store.Bucket
		want   store.Tier
	}{
		{nil, store.Forever},
		{[]store.Bucket{store.Day.Of(noon), store.Hour.Of(noon + year).In(store.Keep1d)}, store.Keep1d},
		{[]store.Bucket{store.Day.Of(noon).In(store.Keep90d), store.Hour.Of(noon + hour).In(store.Keep1d)}, store.Keep90d},
		{[]store.Bucket{store.Day.Of(noon + year), store.Hour.Of(noon + year).In(store.Keep1d), store.Hour.Of(noon).In(store.Keep1y)}, store.Forever},
	} {
		if got := LastTier(tc.starts); got != tc.want {
			t.Errorf("a PV that is not captured stays on tier %v, want %v", got, tc.want)
		}
	}
}
