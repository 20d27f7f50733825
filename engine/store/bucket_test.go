package store

import (
	"math/rand/v2"
	"testing"
)

// TestBuckets checks for random times, from 1906 to 2033, that a bucket holds
// its time, and that its span goes from a first to a last bucket around it.
func TestBuckets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		at := rng.Int64N(4e18) - 2e18
		for size := Hour; size.Valid(); size++ {
			b := size.Of(at)
			if b.Size() != size || b.Start() > at || b.End() <= at || b.Next().Start() != b.End() || b.Next().Prev() != b {
				t.Fatalf("%v bucket of %d: from %d to %d", size, at, b.Start(), b.End())
			}
			s := b.Span()
			if s.Size() != size || s.First() > b || s.Last() < b {
				t.Fatalf("%v bucket %d is not between %d and %d", size, b, s.First(), s.Last())
			}
			if s.First().Span() != s || s.Last().Span() != s || s.First().Prev().Span() == s || s.Last().Next().Span() == s {
				t.Fatalf("span %d of %v buckets: %d and %d are not its first and last", s, size, s.First(), s.Last())
			}
		}
	}
}
