package table

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestClockAppendsTimesAsTheLibraryDoes compares times of one day, of other days, and at the ends of
// days and of the range of times, with those that package time formats.
func TestClockAppendsTimesAsTheLibraryDoes(t *testing.T) {
	const day = int64(24 * time.Hour)
	rng := rand.New(rand.NewPCG(1, 1))
	times := []int64{0, -1, 1, day, day - 1, day + 1, -day, -day - 1, 1 - day, math.MinInt64, math.MinInt64 + 1, math.MaxInt64, math.MinInt64, -2208988800e9, 7258118400e9}
	for range 10_000 {
		at := rng.Int64() - math.MaxInt64/2
		times = append(times, at, at+rng.Int64N(day), at+rng.Int64N(1e9))
	}
	var c clock
	for _, ns := range times {
		want := time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z")
		if got := string(c.append([]byte("x"), ns)); got != "x"+want {
			t.Fatalf("%d ns since 1970 are %q, want %q", ns, got[1:], want)
		}
	}
}
