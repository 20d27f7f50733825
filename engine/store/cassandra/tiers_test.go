package cassandra

import (
	"math"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
)

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func at(now time.Time) *Store {
	return &Store{cfg: cql.Config{Now: func() time.Time { return now }}, shortestTTL: shortestTTL, outlive: schema.Outlive}
}

// TestTTL checks that the TTL of a row ends when its bucket expires, or in an hour if that is
// later. The TTL is 0, which means forever, only if the bucket never expires. It is never longer
// than Cassandra accepts.
func TestTTL(t *testing.T) {
	s := at(noon)
	const day = 24 * 3600
	for _, test := range []struct {
		bucket store.Bucket
		want   int
	}{
		{store.Day.Of(noon.UnixNano()), 0},
		{store.Hour.Of(noon.UnixNano()).In(store.Keep1d), 3600 + day},
		{store.Day.Of(noon.UnixNano()).In(store.Keep90d), day/2 + 90*day},
		{store.Day.Of(noon.UnixNano() - 90*day*1e9).In(store.Keep90d), day / 2},
		{store.Hour.Of(noon.UnixNano() - day*1e9 - 1).In(store.Keep1d), 3600}, // expires now
		{store.Hour.Of(noon.UnixNano() - 9*day*1e9).In(store.Keep1d), 3600},
		{store.Year.Of(math.MinInt64 + 366*day*1e9).In(store.Keep10y), 3600},
		{store.Year.Of(noon.AddDate(40, 0, 0).UnixNano()).In(store.Keep10y), 20*365*day - 3600},
		{store.Year.Of(math.MaxInt64).In(store.Keep10y), 20*365*day - 3600},
	} {
		ttl := s.ttl(test.bucket.Expires())
		if ttl != test.want {
			t.Errorf("a block of the %v from %v on tier %v has a TTL of %d s, want %d", test.bucket.Size(),
				time.Unix(0, test.bucket.Start()).UTC(), test.bucket.Tier(), ttl, test.want)
		}
		if longer := s.longer(ttl); ttl == 0 && longer != 0 || ttl > 0 && longer <= ttl || longer > 20*365*day {
			t.Errorf("parts of rows with a TTL of %d s have a TTL of %d s", ttl, longer)
		}
	}
}

// TestTTLHeedsTheEarliestTime checks that the TTL of a row is counted from the earliest of three
// times: the clock of this machine, the clocks of the nodes, and the evidence about the clock.
func TestTTLHeedsTheEarliestTime(t *testing.T) {
	b := store.Day.Of(noon.UnixNano()).In(store.Keep90d)
	want := int(24*time.Hour/time.Second)/2 + 90*24*3600
	ahead := noon.AddDate(1, 0, 0)
	for name, s := range map[string]*Store{
		"the clock of this machine": {cfg: cql.Config{
			Now: func() time.Time { return noon }, Timestamps: func() time.Time { return ahead },
			Earliest: func() int64 { return ahead.UnixNano() },
		}},
		"the clocks of the nodes": {cfg: cql.Config{
			Now: func() time.Time { return ahead }, Timestamps: func() time.Time { return noon },
			Earliest: func() int64 { return ahead.UnixNano() },
		}},
		"the evidence": {cfg: cql.Config{
			Now: func() time.Time { return ahead }, Timestamps: func() time.Time { return ahead },
			Earliest: func() int64 { return noon.UnixNano() },
		}},
	} {
		s.shortestTTL, s.outlive = shortestTTL, schema.Outlive
		if ttl := s.ttl(b.Expires()); ttl != want {
			t.Errorf("the earliest time is that of %s: a row lives for %d s, want %d", name, ttl, want)
		}
	}
}

// TestReachGrowsInPowersOfTwo checks that the reach of a bucket, which the store keeps as a power
// of two, is at least the length of the longest block, and less than twice that length.
func TestReachGrowsInPowersOfTwo(t *testing.T) {
	for _, reach := range []int64{1, 2, 3, 4, 5, 1000, 1024, 1025, 1 << 40, 1<<40 + 1, 1 << 62, 1<<62 + 1, math.MaxInt64} {
		if got := exp2(log2(reach)); got < reach || got/2 >= reach {
			t.Errorf("a reach of %d is read as %d", reach, got)
		}
	}
}

func TestPartsOfRollups(t *testing.T) {
	for tile, want := range map[store.Tile]int64{0: 0, 255: 0, 256: 1, -1: -1, -256: -1, -257: -2} {
		if got := part(tile); got != want {
			t.Errorf("tile %d is in part %d, want %d", tile, got, want)
		}
	}
}

// TestPartsOfStarts checks which partitions of rollups Delete reads. It reads each partition that
// may have tiles, given Starts in the directory entry, once. It skips partitions that have expired.
func TestPartsOfStarts(t *testing.T) {
	s := at(noon)
	forever, year := store.LevelOf(time.Minute, store.Forever), store.LevelOf(time.Minute, store.Keep1y)
	start := func(years int) store.Bucket { return store.Day.Of(noon.AddDate(years, 0, 0).UnixNano()) }
	parts := func(l store.Level, starts ...store.Bucket) (n int) {
		last := int64(math.MinInt64)
		for _, r := range s.partsOf(l, starts) {
			if r.first <= last {
				t.Errorf("part %d comes after %d", r.first, last)
			}
			n, last = n+int(r.last-r.first)+1, r.last
		}
		for _, b := range starts {
			for b := range sequence(b, b.Span().Last()) {
				expired := l.Tier() != store.Forever && b.End() < noon.UnixNano()-int64(l.Tier().Keep()+shortestTTL)
				p := part(l.Tile(b.Start()))
				if in := slices.ContainsFunc(s.partsOf(l, starts), func(r run) bool { return r.first <= p && p <= r.last }); !in && !expired {
					t.Fatalf("part %d of level %v is left out", p, l)
				}
			}
		}
		return n
	}
	one := parts(forever, start(-3))
	if two := parts(forever, start(-3), start(-3).Next(), store.Hour.Of(noon.AddDate(-3, 0, 0).UnixNano()).In(store.Keep1d)); two < one || two > one+1 {
		t.Errorf("partsOf returns %d partitions for one start, and %d for three starts in the same year", one, two)
	}
	if n := parts(year, start(-3)); n != 0 {
		t.Errorf("partsOf returns %d partitions for an expired start", n)
	}
	if n := parts(year, start(-3), start(-1), start(0)); n == 0 {
		t.Error("partsOf returns no partitions although two of three starts have not expired")
	}
}

func sequence(first, last store.Bucket) func(func(store.Bucket) bool) {
	return func(yield func(store.Bucket) bool) {
		for b := first; b <= last && yield(b); b = b.Next() {
		}
	}
}
