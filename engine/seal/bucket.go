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

// chooseSize returns the longest bucket that is not too large at a rate.
func chooseSize(rate float64) store.BucketSize {
	for s := store.Year; s > store.Hour; s-- {
		if bytesIn(s, rate) <= target {
			return s
		}
	}
	return store.Hour
}

// reviseSize returns the size to go on with. A size stays unless its buckets
// become too large, or until they end and a longer one would be filled by half
// at most.
func reviseSize(now store.BucketSize, rate float64, ended bool) store.BucketSize {
	if bytesIn(now, rate) > most {
		return chooseSize(rate)
	}
	if ended {
		if s := chooseSize(2 * rate); s > now {
			return s
		}
	}
	return now
}
