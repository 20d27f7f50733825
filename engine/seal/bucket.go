package seal

import (
	"varve.dev/varve/engine/store"
)

// Bytes that a bucket should come to hold: sizes are chosen for target, and
// changed where a bucket would hold more than most.
const (
	target = 24 << 20
	most   = 64 << 20
)

// bytesIn returns what a rate in bytes per second comes to in a bucket.
func bytesIn(s store.BucketSize, rate float64) float64 { return rate * s.Span().Seconds() }

// chooseSize returns the longest bucket that is not too large at a rate, nor longer
// than a tier has them.
func chooseSize(rate float64, longest store.BucketSize) store.BucketSize {
	for s := longest; s > store.Hour; s-- {
		if bytesIn(s, rate) <= target {
			return s
		}
	}
	return store.Hour
}

// reviseSize returns the size to go on with. A size stays unless its buckets
// become too large, or are longer than the tier has them, or until they end and a
// longer one would be filled by half at most.
func reviseSize(now store.BucketSize, rate float64, ended bool, longest store.BucketSize) store.BucketSize {
	now = min(now, longest)
	if bytesIn(now, rate) > most {
		return chooseSize(rate, longest)
	}
	if ended {
		return max(now, chooseSize(2*rate, longest))
	}
	return now
}

// expired reports whether a bucket has expired at a time in ns since 1970.
func expired(b store.Bucket, now int64) bool {
	at, ever := b.Expires()
	return ever && at <= now
}

// lastTier returns the tier of a PV that nobody captures any more. The directory does
// not tell in which order it used those of its latest year: so it is the longest of
// them, which loses nothing.
func lastTier(starts []store.Bucket) store.Tier {
	tier, latest := store.Forever, store.Bucket(0)
	for i, b := range starts {
		year := store.Year.Of(b.Start())
		if i == 0 || year > latest || year == latest && b.Tier().Longer(tier) {
			tier, latest = b.Tier(), year
		}
	}
	return tier
}

// available returns, of the tiers that the store has, the shortest that keeps data
// for as long as another one.
func available(has []store.Tier, want store.Tier) store.Tier {
	tier := store.Forever
	for _, r := range has {
		if !want.Longer(r) && tier.Longer(r) {
			tier = r
		}
	}
	return tier
}
