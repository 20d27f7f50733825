package store

import (
	"math/rand/v2"
	"testing"
)

// TestBuckets checks for random times, from 1906 to 2033, that a bucket holds
// its time, and that its span ends with a bucket of it.
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
			if s.Size() != size || s.Last() < b || s.Last().Span() != s || s.Last().Next().Span() == s {
				t.Fatalf("%v bucket %d: %d is not the last one of its span", size, b, s.Last())
			}
		}
	}
}
