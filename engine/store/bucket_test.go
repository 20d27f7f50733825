package store

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestBuckets checks for random times from 1906 to 2033 that the bucket of a time contains
// that time, and that the last bucket of a span belongs to the span.
func TestBuckets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		at := rng.Int64N(4e18) - 2e18
		tier := Tier(rng.IntN(NumTiers))
		for size := Hour; size.Valid(); size++ {
			b := size.Of(at).In(tier)
			if b.Size() != size || b.Tier() != tier || b.In(Forever) != size.Of(at) || b.Start() > at || b.End() <= at || b.Next().Start() != b.End() || b.Next().Prev() != b {
				t.Fatalf("%v bucket of %d: from %d to %d", size, at, b.Start(), b.End())
			}
			s := b.Span()
			if s.Size() != size || s.Tier() != tier || s.Last() < b || s.Last().Span() != s || s.Last().Next().Span() == s {
				t.Fatalf("%v bucket %d: %d is not the last one of its span", size, b, s.Last())
			}
		}
	}
}

// TestTiers checks that TierFor returns the shortest tier that keeps data at least as long as
// requested.
func TestTiers(t *testing.T) {
	for keep, want := range map[time.Duration]Tier{
		0: Forever, time.Second: Keep1d, day: Keep1d, day + 1: Keep7d, 45 * day: Keep90d,
		365 * day: Keep1y, 3650 * day: Keep10y, 3651 * day: Forever,
	} {
		if got := TierFor(keep); got != want {
			t.Errorf("%v is kept on tier %v, want %v", keep, got, want)
		}
	}
	for r := Keep1d; r.Valid(); r++ {
		if !Forever.Longer(r) || r.Longer(Forever) || r > Keep1d && !r.Longer(r-1) || r.Longest().Span() > max(r.Keep()/10, time.Hour) {
			t.Errorf("tier %v, with buckets of a %v at most, is out of order", r, r.Longest())
		}
	}
}

// TestTierNames checks that ParseTier accepts the names that String returns, and refuses other
// names.
func TestTierNames(t *testing.T) {
	for r := range Tier(NumTiers) {
		if got, err := ParseTier(r.String()); got != r || err != nil {
			t.Errorf("ParseTier of %v returns %v, %v", r, got, err)
		}
	}
	for _, name := range []string{"", "3d", "1D", Tier(NumTiers).String()} {
		if r, err := ParseTier(name); err == nil {
			t.Errorf("ParseTier accepts %q and returns %v", name, r)
		}
	}
}

// TestExpires checks that rows expire when the retention time of their tier has passed since
// the end of their bucket or tile. A row whose expiry is too late for an int64 expires at the
// greatest time.
func TestExpires(t *testing.T) {
	at := time.Date(2026, 11, 21, 13, 7, 0, 0, time.UTC)
	midnight := at.Truncate(day).Add(day).UnixNano()
	for r := Keep1d; r.Valid(); r++ {
		b, l := Day.Of(at.UnixNano()).In(r), LevelOf(day/TileBins, r)
		if goes, ok := b.Expires(); !ok || goes != midnight+int64(r.Keep()) {
			t.Errorf("a bucket on tier %v expires at %d, %v", r, goes, ok)
		}
		if goes, ok := l.Expires(l.Tile(at.UnixNano())); !ok || goes != midnight+int64(r.Keep()) {
			t.Errorf("a tile on tier %v expires at %d, %v", r, goes, ok)
		}
		last, wide := Year.Of(math.MaxInt64).In(r), LevelOf(365*day, r)
		if goes, ok := last.Expires(); !ok || goes != math.MaxInt64 {
			t.Errorf("the last bucket on tier %v expires at %d, %v", r, goes, ok)
		}
		if goes, ok := wide.Expires(wide.Tile(math.MaxInt64)); !ok || goes != math.MaxInt64 {
			t.Errorf("the last tile on tier %v expires at %d, %v", r, goes, ok)
		}
	}
	if _, ok := Day.Of(0).Expires(); ok {
		t.Error("a bucket on tier forever expires")
	}
	if _, ok := LevelOf(day, Forever).Expires(0); ok {
		t.Error("a tile on tier forever expires")
	}
}

// TestTiles checks for random times that the tile of a time contains that time.
func TestTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		at := rng.Int64N(4e18) - 2e18
		every := time.Duration(1+rng.Int64N(365*day.Milliseconds())) * time.Millisecond
		l := LevelOf(every, Keep2y)
		tile := l.Tile(at)
		if !l.Valid() || l.Every() != every || l.Tier() != Keep2y || l.Start(tile) > at || l.Start(tile+1) <= at {
			t.Fatalf("tile %d of level %v does not contain %d", tile, l, at)
		}
	}
}
