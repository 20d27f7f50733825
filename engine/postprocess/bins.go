package postprocess

import (
	"sort"

	"varve.dev/varve/engine/sample"
)

// bins cuts a range into bins. Bin n begins at n times the width since 1970. All
// times are in ns.
type bins struct{ from, to, width int64 }

// bins returns the bins of a post-processor whose first parameter is a width, or a
// number of points.
func (f *Func) bins(from, to int64) bins {
	seconds := int64(f.args[0])
	if f.stat != nil && f.stat.points {
		seconds = max(1, (floor(to, 1e9)-floor(from, 1e9))/seconds)
	}
	return bins{from, to, seconds * 1e9}
}

// floor divides and rounds down, also for negative times.
func floor(t, by int64) int64 {
	q := t / by
	if t%by < 0 {
		q--
	}
	return q
}

func (b *bins) of(t int64) int64       { return floor(t, b.width) }
func (b *bins) first() int64           { return b.of(b.from) }
func (b *bins) last() int64            { return b.of(b.to) }
func (b *bins) start(bin int64) int64  { return bin * b.width }
func (b *bins) middle(bin int64) int64 { return bin*b.width + b.width/2 }

// segment returns the bin of sample i of a run and the end (exclusive) of the samples
// in that bin. Samples before the range are in the bin before the first.
func (b *bins) segment(r *sample.Run, i int) (bin int64, end int) {
	if r.Times[i] < b.from {
		return b.first() - 1, search(r.Times, i, b.from)
	}
	bin = b.of(r.Times[i])
	return bin, search(r.Times, i, b.start(bin+1))
}

// search returns the index, from i on, of the first time at or after t. It is fast if
// that index is near i or at the end.
func search(times []int64, i int, t int64) int {
	n := len(times)
	if times[n-1] < t {
		return n
	}
	step := 1
	for i+step < n && times[i+step] < t {
		i += step
		step *= 2
	}
	return i + sort.Search(min(step, n-i), func(k int) bool { return times[i+k] >= t })
}
