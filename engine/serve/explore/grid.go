package explore

import (
	"math"
	"time"
)

// widths are the widths of bins from a second on. They are multiples of each other, or nearly so, so
// that stored rollups of 10 s, 1 min, 5 min, 1 h and the like can be used.
var widths = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 48 * time.Hour, 96 * time.Hour, 240 * time.Hour, 720 * time.Hour,
}

// gridWidth returns the width in ns of the bins for about n bins in a range: the smallest width of
// the grid with which the range has at most n bins, apart from parts of bins at its ends. All PVs
// have the same bins, and a range of equal length beside it has the same width.
func gridWidth(from, to int64, n int) int64 {
	span := min(float64(to)-float64(from), math.MaxInt64/2) // three centuries exceed an int64
	least := max(1, int64(math.Ceil(span/float64(n))))
	for decade := int64(1); decade < int64(time.Second); decade *= 10 {
		for _, factor := range []int64{1, 2, 5} {
			if w := factor * decade; w >= least {
				return w
			}
		}
	}
	for _, w := range widths {
		if int64(w) >= least {
			return int64(w)
		}
	}
	last := int64(widths[len(widths)-1])
	return (least + last - 1) / last * last
}
