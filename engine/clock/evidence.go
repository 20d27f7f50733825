package clock

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Reading is the time that another clock showed.
type Reading struct {
	// Source names the other clock.
	Source string
	// Time is what it showed, in ns since 1970, when the clock since boot showed At. It is exact to
	// Within.
	Time   int64
	At     time.Duration
	Within time.Duration
}

const (
	// drift bounds how fast the clock since boot departs from another clock, in parts per million.
	drift = 100
	// exact is how exact a reading must be.
	exact = limit / 2
	// forgetAfter is how long the reading of an IOC or of an engine counts.
	forgetAfter = 10 * time.Minute
	// maxSources bounds the readings of a kind that are kept.
	maxSources = 10_000
	// tooOld is the end of 1990 in ns since 1970. An IOC that has no time sends times of 1990.
	tooOld = 662_688_000 * int64(time.Second)
)

// readings are the latest readings of the sources of one kind.
type readings map[string]Reading

// put keeps readings that are exact enough, and forgets old ones. A reading that is not exact must
// not take the place of an earlier one that is.
func (r readings) put(now time.Duration, all ...Reading) {
	maps.DeleteFunc(r, func(_ string, old Reading) bool { return now-old.At > forgetAfter })
	for _, n := range all {
		if n.Within > exact {
			continue
		}
		if _, known := r[n.Source]; known || len(r) < maxSources {
			r[n.Source] = n
		}
	}
}

// opinion returns what the readings say about a clock that shows wall when the clock since boot
// shows now: the median offset, provided that most of the sources agree with it. A reading becomes
// less exact with time. It then cannot show that the clock is right, but still that it is wrong.
func (r readings) opinion(k Kind, wall int64, now time.Duration) (o Opinion, ok bool) {
	var all []Opinion
	for _, n := range r {
		o := Opinion{Offset: since(n.Time, wall) + now - n.At, Within: n.Within + (now-n.At).Abs()*drift/1_000_000}
		if o.Within <= exact || o.isOff(limit) {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return Opinion{}, false
	}
	slices.SortFunc(all, func(a, b Opinion) int { return cmp.Compare(a.Offset, b.Offset) })
	o = all[(len(all)-1)/2]
	o.Kind = k
	for i := range all {
		if all[i].agrees(&o, limit) {
			o.Sources++
		}
	}
	return o, 2*o.Sources > len(all)
}

// century bounds all differences between clocks.
const century = 100 * 365 * 24 * time.Hour

// since returns a - b, but at most a century, so that durations can be added to it.
func since(a, b int64) time.Duration {
	d := time.Duration(a - b)
	if a > b != (d > 0) && a != b { // the difference overflows
		d = century
		if a < b {
			d = -century
		}
	}
	return min(max(d, -century), century)
}

// middle returns the reading with the median offset.
func middle(all []Reading) Reading {
	slices.SortFunc(all, func(a, b Reading) int { return cmp.Compare(a.Time-int64(a.At), b.Time-int64(b.At)) })
	return all[(len(all)-1)/2]
}
