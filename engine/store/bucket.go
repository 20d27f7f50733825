package store

import (
	"fmt"
	"time"
)

// BucketSize is the span of time whose blocks of a PV share a partition. The
// numbers are stored.
type BucketSize uint8

// Bucket sizes. A year has 365 days, a month 30.
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

// Valid reports whether the size is one this version knows.
func (s BucketSize) Valid() bool { return int(s) < numBucketSizes }

// Span returns the length of time of a bucket.
func (s BucketSize) Span() time.Duration { return bucketSpans[s] }

// String returns "hour" … "year".
func (s BucketSize) String() string {
	if s.Valid() {
		return bucketNames[s]
	}
	return fmt.Sprintf("bucketsize(%d)", uint8(s))
}

// Of returns the bucket of this size that holds a time in ns since 1970.
func (s BucketSize) Of(t int64) Bucket {
	span := int64(bucketSpans[s])
	i := t / span
	if t%span < 0 {
		i--
	}
	return Bucket(i<<3 | int64(s))
}

// Bucket is a span of time: its size in the low 3 bits, above them how many
// spans after 1970-01-01 UTC it begins. Negative ones are before 1970.
type Bucket int64

// Size returns the size.
func (b Bucket) Size() BucketSize { return BucketSize(b & 7) }

// Start returns the first instant of the bucket in ns since 1970.
func (b Bucket) Start() int64 { return int64(b>>3) * int64(b.Size().Span()) }

// End returns the first instant after the bucket in ns since 1970.
func (b Bucket) End() int64 { return b.Next().Start() }

// Next returns the bucket of the same size that follows.
func (b Bucket) Next() Bucket { return b + 8 }

// Span returns the span the bucket is in: that of the year it begins in.
func (b Bucket) Span() Span { return Span(int64(Year.Of(b.Start()))&^7 | int64(b.Size())) }

// Prev returns the bucket of the same size before.
func (b Bucket) Prev() Bucket { return b - 8 }

// Span is the buckets of one size that begin in one year of 365 days: their size
// in the low 3 bits, above them the number of years after 1970-01-01 UTC.
type Span int64

// Size returns the size of the buckets.
func (s Span) Size() BucketSize { return BucketSize(s & 7) }

func (s Span) year() Bucket { return Bucket(int64(s)&^7 | int64(Year)) }

// Last returns the last bucket of the span.
func (s Span) Last() Bucket { return s.Size().Of(s.year().End() - 1) }
