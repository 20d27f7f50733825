package postprocess

import "math"

// line interpolates linearly at a time between the samples around it. Times are in ns.
type line struct {
	some, after bool // there is a sample; there is one at or after the time
	first       float64
	before      bool // there is a sample at or before the time
	t0, t1      int64
	v0, v1      float64 // of the last sample at or before the time, the first at or after it
}

// add adds a sample. The caller adds samples in order of time.
func (l *line) add(t int64, v float64, at int64) {
	if !l.some {
		l.some, l.first = true, v
	}
	if t <= at {
		l.before, l.t0, l.v0 = true, t, v
	}
	if t >= at && !l.after {
		l.after, l.t1, l.v1 = true, t, v
	}
}

// at returns the value at the time. If all samples are on one side of the time, it
// returns the first value.
func (l *line) at(t int64) float64 {
	switch {
	case !l.some:
		return math.NaN()
	case !l.before || !l.after:
		return l.first
	case l.t0 == l.t1:
		return l.v0
	}
	part := float64(t-l.t0) / float64(l.t1-l.t0)
	if rise := l.v1 - l.v0; finite(rise) {
		return l.v0 + part*rise
	}
	return (1-part)*l.v0 + part*l.v1 // infinite if one of them is
}
