package store

import (
	"fmt"
	"math"
	"time"
)

// BucketSize is the length of a bucket: all blocks of a PV in a bucket share a partition. The
// store contains these numbers, so they must not change.
type BucketSize uint8

// Bucket sizes. A year has 365 days, and a month has 30 days.
const (
	Hour BucketSize = iota
	Day
	Month
	Year

	numBucketSizes = int(iota)
)

var bucketSpans = [numBucketSizes]time.Duration{
	time.Hour, 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

var bucketNames = [numBucketSizes]string{"hour", "day", "month", "year"}

// Valid reports whether this version knows the size.
func (s BucketSize) Valid() bool { return int(s) < numBucketSizes }

// Span returns the length of a bucket.
func (s BucketSize) Span() time.Duration { return bucketSpans[s] }

// String returns "hour" … "year".
func (s BucketSize) String() string {
	if s.Valid() {
		return bucketNames[s]
	}
	return fmt.Sprintf("bucketsize(%d)", uint8(s))
}

// Of returns the bucket of this size, kept forever, that holds a time in ns since 1970.
func (s BucketSize) Of(t int64) Bucket {
	span := int64(bucketSpans[s])
	i := t / span
	if t%span < 0 {
		i--
	}
	return Bucket(i<<3 | int64(s))
}

// Bucket is a span of time whose blocks expire together. It is the sum of two numbers. The
// first number is the tier times 2⁵⁶. The second number has the size in its low 3 bits. The
// bits above them count the spans from 1970-01-01 UTC to the start of the bucket; this count
// is negative before 1970. Buckets of one tier and one size therefore sort by time.
type Bucket int64

// tierShift is the position of the tier in a bucket. The second number is at least -half and
// less than half.
const (
	tierShift = 56
	half      = 1 << (tierShift - 1)
)

// In returns the bucket of the same span of time on another tier.
func (b Bucket) In(r Tier) Bucket { return b.place() + Bucket(r)<<tierShift }

// Tier returns how long the blocks of the bucket are kept.
func (b Bucket) Tier() Tier { return Tier((b + half) >> tierShift) }

// Buckets returns the range of the buckets of a tier: the first possible one, and the one after the
// last.
func (r Tier) Buckets() (first, end Bucket) {
	return Bucket(r)<<tierShift - half, Bucket(r+1)<<tierShift - half
}

// place returns the bucket without its tier.
func (b Bucket) place() Bucket { return b - (b+half)>>tierShift<<tierShift }

// Size returns the size.
func (b Bucket) Size() BucketSize { return BucketSize(b & 7) }

// Start returns the first instant of the bucket in ns since 1970.
func (b Bucket) Start() int64 { return int64(b.place()>>3) * int64(b.Size().Span()) }

// End returns the first instant after the bucket in ns since 1970.
func (b Bucket) End() int64 { return b.Next().Start() }

// Expires returns when the blocks of the bucket expire, in ns since 1970. They expire
// together. ok is false if they never expire.
func (b Bucket) Expires() (at int64, ok bool) {
	if b.Tier() == Forever {
		return 0, false
	}
	return later(b.Start(), b.Size().Span()+b.Tier().Keep()), true
}

// later returns t + by, or the greatest number if the sum exceeds it.
func later(t int64, by time.Duration) int64 {
	if t > math.MaxInt64-int64(by) {
		return math.MaxInt64
	}
	return t + int64(by)
}

// Next returns the following bucket of the same size and tier.
func (b Bucket) Next() Bucket { return b + 8 }

// Prev returns the preceding bucket of the same size and tier.
func (b Bucket) Prev() Bucket { return b - 8 }

// Span returns the span that contains the bucket. It is the span of the year in which the
// bucket begins.
func (b Bucket) Span() Span {
	return Span(Bucket(int64(Year.Of(b.Start()))&^7 | int64(b.Size())).In(b.Tier()))
}

// Span stands for the buckets of one size and tier that begin in one year of 365 days. A span
// has the number of that year's bucket, but with the size of the span's buckets in the low
// bits.
type Span int64

// Size returns the size of the buckets.
func (s Span) Size() BucketSize { return BucketSize(s & 7) }

// Tier returns how long their blocks are kept.
func (s Span) Tier() Tier { return Bucket(s).Tier() }

func (s Span) year() Bucket { return Bucket(int64(s)&^7 | int64(Year)) }

// Last returns the last bucket of the span.
func (s Span) Last() Bucket { return s.Size().Of(s.year().End() - 1).In(s.Tier()) }
