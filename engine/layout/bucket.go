package layout

import (
	"varve.dev/varve/engine/store"
)

const (
	// TargetBytes is the size that a bucket should have. ChooseSize chooses the bucket size
	// for it.
	TargetBytes = 24 << 20
	// maxBytes is the expected size of a bucket above which ReviseSize chooses a shorter size.
	maxBytes = 64 << 20
)

// bytesIn returns how many bytes a bucket holds at a rate in bytes per second.
func bytesIn(s store.BucketSize, rate float64) float64 { return rate * s.Span().Seconds() }

// ChooseSize returns the longest bucket size, up to longest, that stays within TargetBytes at a
// rate in bytes per second.
func ChooseSize(rate float64, longest store.BucketSize) store.BucketSize {
	for s := longest; s > store.Hour; s-- {
		if bytesIn(s, rate) <= TargetBytes {
			return s
		}
	}
	return store.Hour
}

// ReviseSize returns the bucket size to continue with. A size becomes shorter if its buckets
// would be too large, or are longer than the tier's longest. It becomes longer only after the
// bucket has ended, and only if the longer bucket would be at most half full.
func ReviseSize(now store.BucketSize, rate float64, ended bool, longest store.BucketSize) store.BucketSize {
	now = min(now, longest)
	if bytesIn(now, rate) > maxBytes {
		return ChooseSize(rate, longest)
	}
	if ended {
		return max(now, ChooseSize(2*rate, longest))
	}
	return now
}

// Expired reports whether a bucket has expired at a time in ns since 1970.
func Expired(b store.Bucket, now int64) bool {
	at, expires := b.Expires()
	return expires && at <= now
}

// LastTier returns the tier of a PV that no engine captures any longer. The directory does not
// say in which order the PV used the tiers of its latest year. LastTier therefore returns the
// longest of these tiers, so that nothing is lost.
func LastTier(starts []store.Bucket) store.Tier {
	tier, latest := store.Forever, store.Bucket(0)
	for i, b := range starts {
		year := store.Year.Of(b.Start())
		if i == 0 || year > latest || year == latest && b.Tier().Longer(tier) {
			tier, latest = b.Tier(), year
		}
	}
	return tier
}

// AvailableTier returns the shortest of a store's tiers that keeps data at least as long as the
// wanted one.
func AvailableTier(has []store.Tier, want store.Tier) store.Tier {
	tier := store.Forever
	for _, r := range has {
		if !want.Longer(r) && tier.Longer(r) {
			tier = r
		}
	}
	return tier
}
