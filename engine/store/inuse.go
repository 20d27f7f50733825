package store

import (
	"iter"
	"slices"
)

// InUse yields the buckets that can contain blocks of a PV, given the starts of its directory
// entry. It leaves out buckets that begin after until and buckets that are expired at now;
// both are in ns since 1970. It yields the buckets of a span one after another.
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
