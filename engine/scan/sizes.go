package scan

import (
	"cmp"
	"iter"
	"slices"

	"varve.dev/varve/engine/store"
)

// sized has the buckets of one size and tier that can have blocks, as segments in order of
// time. The scan begins with the bucket of the time since.
type sized struct {
	size     store.BucketSize
	tier     store.Tier
	segments []segment
	since    int64
}

// segment is a sequence of adjacent buckets of one size and tier.
type segment struct{ first, last store.Bucket }

// bySize returns the buckets that can have blocks, by size and tier, the shortest size first.
// starts are the starts in the directory. In each span, the buckets from the earliest start to
// the end of the span can have blocks, except for those that have expired at the time now.
func bySize(starts []store.Bucket, since, now int64) (out []sized) {
	starts = slices.DeleteFunc(slices.Clone(starts), func(b store.Bucket) bool { return !b.Size().Valid() || !b.Tier().Valid() })
	slices.SortFunc(starts, func(a, b store.Bucket) int {
		return cmp.Or(cmp.Compare(a.Size(), b.Size()), cmp.Compare(a, b))
	})
	var previous store.Span
	for i, b := range starts {
		if i > 0 && b.Span() == previous {
			continue // this span already has an earlier start
		}
		previous = b.Span()
		st := segment{max(b, oldest(b.Size(), b.Tier(), now)), b.Span().Last()}
		if st.first > st.last {
			continue
		}
		if n := len(out); n == 0 || out[n-1].size != b.Size() || out[n-1].tier != b.Tier() {
			out = append(out, sized{size: b.Size(), tier: b.Tier(), since: since})
		}
		s := &out[len(out)-1]
		s.segments = append(s.segments, st)
	}
	return out
}

// oldest returns the first bucket of a size and a tier that has not expired.
func oldest(size store.BucketSize, tier store.Tier, now int64) store.Bucket {
	if tier == store.Forever {
		return size.Of(Earliest)
	}
	return size.Of(now - int64(tier.Keep())).In(tier)
}

// of returns the bucket of this size and tier that contains a time.
func (s *sized) of(t int64) store.Bucket { return s.size.Of(t).In(s.tier) }

// upTo yields the buckets in use, in order of time, from the bucket of the time since to the
// bucket of the time to.
func (s *sized) upTo(to int64) iter.Seq[store.Bucket] {
	return func(yield func(store.Bucket) bool) {
		for _, st := range s.segments {
			for b := max(st.first, s.of(s.since)); b <= min(st.last, s.of(to)); b = b.Next() {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// backFrom yields the buckets in use, the latest first, beginning with the bucket of a time.
func (s *sized) backFrom(t int64) iter.Seq[store.Bucket] {
	return func(yield func(store.Bucket) bool) {
		for _, st := range slices.Backward(s.segments) {
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
	return slices.ContainsFunc(s.segments, func(st segment) bool { return st.first <= b && b <= st.last })
}
