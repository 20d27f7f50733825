package store

import (
	"iter"
	"slices"
)

// InUse yields the buckets in which blocks can stand after the starts of a directory
// entry, up to a time, and that are not expired at another; both in ns since 1970.
// Those of one span come one after the other.
func InUse(starts []Bucket, now, until int64) iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		listed := map[Span]bool{}
		for _, b := range slices.Sorted(slices.Values(starts)) {
			if !b.Tier().Valid() || !b.Size().Valid() || listed[b.Span()] {
				continue
			}
			listed[b.Span()] = true
			last := min(b.Span().Last(), b.Size().Of(until).In(b.Tier()))
			if b.Tier() != Forever {
				b = max(b, b.Size().Of(now-int64(b.Tier().Keep())).In(b.Tier()))
			}
			for ; b <= last; b = b.Next() {
				if !yield(b) {
					return
				}
			}
		}
	}
}
