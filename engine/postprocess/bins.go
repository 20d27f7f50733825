package postprocess

import (
	"sort"

	"varve.dev/varve/engine/sample"
)

// bins cuts a range into bins. Bin n begins at n times the width since 1970. All
// times are in ns.
type bins struct{ from, to, width int64 }

// bins returns those of an operator whose first parameter is a width.
func (o *Operator) bins(from, to int64) bins {
	seconds := int64(o.args[0])
	if o.stat != nil && o.stat.points {
		seconds = max(1, (floor(to, 1e9)-floor(from, 1e9))/seconds)
	}
	return bins{from, to, seconds * 1e9}
}

// floor divides, rounding down also what is below 0.
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

// stretch returns the bin of sample i of a run, and where the samples end that are in
// it as well. What is before the range is in the bin before the first.
func (b *bins) stretch(r *sample.Run, i int) (bin int64, end int) {
	if r.Times[i] < b.from {
		return b.first() - 1, search(r.Times, i, b.from)
	}
	bin = b.of(r.Times[i])
	return bin, search(r.Times, i, b.start(bin+1))
}

// search returns the first of the times from i on that is at or after t. It is fast
// where that is near i, or at the end.
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
