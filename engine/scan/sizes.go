package scan

import (
	"cmp"
	"iter"
	"slices"

	"varve.dev/varve/engine/store"
)

// sized is a bucket size in use on a tier, where its buckets can hold blocks, by time,
// and from when on those are of interest.
type sized struct {
	size      store.BucketSize
	tier      store.Tier
	stretches []stretch
	since     int64
}

// stretch is buckets of one size and tier, one after the other.
type stretch struct{ first, last store.Bucket }

// bySize sorts out where blocks can be: from the earliest start of each span to
// the end of the span, as far as they are not expired at a time. Sizes come in order,
// the shortest first.
func bySize(starts []store.Bucket, since, now int64) (out []sized) {
	starts = slices.DeleteFunc(slices.Clone(starts), func(b store.Bucket) bool { return !b.Size().Valid() || !b.Tier().Valid() })
	slices.SortFunc(starts, func(a, b store.Bucket) int {
		return cmp.Or(cmp.Compare(a.Size(), b.Size()), cmp.Compare(a, b))
	})
	var before store.Span
	for i, b := range starts {
		if i > 0 && b.Span() == before {
			continue // it began earlier
		}
		before = b.Span()
		st := stretch{max(b, oldest(b.Size(), b.Tier(), now)), b.Span().Last()}
		if st.first > st.last {
			continue
		}
		if n := len(out); n == 0 || out[n-1].size != b.Size() || out[n-1].tier != b.Tier() {
			out = append(out, sized{size: b.Size(), tier: b.Tier(), since: since})
		}
		s := &out[len(out)-1]
		s.stretches = append(s.stretches, st)
	}
	return out
}

// oldest returns the first bucket of a size and a tier that is not expired.
func oldest(size store.BucketSize, r store.Tier, now int64) store.Bucket {
	if r == store.Forever {
		return size.Of(Earliest)
	}
	return size.Of(now - int64(r.Keep())).In(r)
}

// of returns the bucket that holds a time.
func (s *sized) of(t int64) store.Bucket { return s.size.Of(t).In(s.tier) }

// upTo yields the buckets in use, by time, from the one that holds since on to
// the one that holds a time.
func (s *sized) upTo(to int64) iter.Seq[store.Bucket] {
	return func(yield func(store.Bucket) bool) {
		for _, st := range s.stretches {
			for b := max(st.first, s.of(s.since)); b <= min(st.last, s.of(to)); b = b.Next() {
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
			for b := min(st.last, s.of(t)); b >= st.first; b = b.Prev() {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// inUse reports whether a bucket can hold blocks.
func (s *sized) inUse(b store.Bucket) bool {
	return slices.ContainsFunc(s.stretches, func(st stretch) bool { return st.first <= b && b <= st.last })
}
