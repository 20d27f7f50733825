package query

import (
	"iter"
	"slices"

	"varve.dev/varve/engine/store"
)

// sized is a bucket size in use, where its buckets can hold blocks, by time, and
// from when on those are of interest.
type sized struct {
	size      store.BucketSize
	stretches []stretch
	since     int64
}

// stretch is buckets of one size, one after the other.
type stretch struct{ first, last store.Bucket }

// bySize sorts out where blocks can be: from the earliest start of each span to
// the end of the span.
func bySize(starts []store.Bucket, since int64) []sized {
	var out []sized
	for size := store.Hour; size.Valid(); size++ {
		of := sized{size: size, since: since}
		for _, b := range slices.Sorted(slices.Values(starts)) {
			last := b.Span().Last()
			if b.Size() != size || len(of.stretches) > 0 && of.stretches[len(of.stretches)-1].last == last {
				continue
			}
			of.stretches = append(of.stretches, stretch{b, last})
		}
		if len(of.stretches) > 0 {
			out = append(out, of)
		}
	}
	return out
}

// upTo yields the buckets in use, by time, from the one that holds since on to
// the one that holds a time.
func (s *sized) upTo(to int64) iter.Seq[store.Bucket] {
	return func(yield func(store.Bucket) bool) {
		for _, st := range s.stretches {
			for b := max(st.first, s.size.Of(s.since)); b <= min(st.last, s.size.Of(to)); b = b.Next() {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// backFrom yields the buckets in use, the latest first, from the one that holds
// a time.
func (s *sized) backFrom(t int64) iter.Seq[store.Bucket] {
	return func(yield func(store.Bucket) bool) {
		for _, st := range slices.Backward(s.stretches) {
			for b := min(st.last, s.size.Of(t)); b >= st.first; b = b.Prev() {
				if !yield(b) {
					return
				}
			}
		}
	}
}
