package explore

import (
	"math"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
)

// moments sums what a PV held, in order of time, without the times of gaps.
type moments struct {
	gaps     [][2]int64 // in order; those before the current time are removed
	kind     rollup.Kind
	count    uint64
	min, max float64 // NaN before the first value
	// weight is the time with a finite value, in ns. mean and sq are of these values: sq is ∫(v−mean)² dt.
	weight, mean, sq float64
	known            float64    // time with a value, in ns
	alarm            [4]float64 // time by severity, in ns
}

func newMoments(g *gapsOf) *moments {
	return &moments{gaps: gapTimes(g), kind: rollup.Other, min: math.NaN(), max: math.NaN()}
}

// outside returns how long [lo, hi) lasts without gaps, in ns. Later calls have no earlier lo.
func (m *moments) outside(lo, hi int64) float64 {
	if hi <= lo {
		return 0
	}
	for len(m.gaps) > 0 && m.gaps[0][1] <= lo {
		m.gaps = m.gaps[1:]
	}
	length := hi - lo
	for _, g := range m.gaps {
		if g[0] >= hi {
			break
		}
		length -= min(g[1], hi) - max(g[0], lo)
	}
	return float64(max(0, length))
}

// sample counts a sample, whose value counts even if it is held for no time.
func (m *moments) sample(h *held) {
	m.count++
	m.kind = h.kind
	m.extend(h.value, h.value)
}

// hold adds a value that was held in [lo, hi).
func (m *moments) hold(h *held, lo, hi int64) {
	t := 0.0
	if h.exists {
		t = m.outside(lo, hi)
	}
	if t == 0 {
		return
	}
	m.kind = h.kind
	m.time(t, h.severity)
	if finite(h.value) {
		m.extend(h.value, h.value)
		if h.kind == rollup.Number {
			m.add(t, h.value, 0)
		}
	}
}

// bin adds a bin. Nothing is known after until, in ns since 1970.
func (m *moments) bin(b *rollup.Bin, until int64) {
	m.count += b.Count
	length := m.outside(b.Start, min(b.End(), until))
	if b.Covered == 0 || length == 0 && b.Count == 0 {
		return
	}
	m.kind = b.Kind
	t := length * min(1, float64(b.Covered)/float64(max(1, min(b.End(), until)-b.Start)))
	m.time(t, b.Severity)
	switch b.Kind {
	case rollup.Number:
		m.extend(b.Min, b.Max)
		if t > 0 && finite(b.Mean) {
			m.add(t, b.Mean, b.Std)
		}
	case rollup.Choice:
		m.extend(extremes(b))
	}
}

func (m *moments) time(t float64, severity sample.Severity) {
	m.known += t
	m.alarm[min(int(severity), len(m.alarm)-1)] += t
}

func (m *moments) extend(low, high float64) {
	if finite(low) && !(m.min <= low) {
		m.min = low
	}
	if finite(high) && !(m.max >= high) {
		m.max = high
	}
}

// add adds values that were held for a time in ns.
func (m *moments) add(t, mean, std float64) {
	m.weight += t
	d := mean - m.mean
	m.mean += d * t / m.weight
	m.sq += t*std*std + t*d*(mean-m.mean)
}

// result returns the statistics. length is that of the range up to now, in ns.
func (m *moments) result(length int64) *statistics {
	out := &statistics{Kind: kindNames[m.kind], Count: m.count, Alarm: map[string]float64{}}
	if !math.IsNaN(m.min) {
		out.Min, out.Max = &m.min, &m.max
	}
	if std := math.Sqrt(max(0, m.sq/m.weight)); m.weight > 0 && finite(m.mean) && finite(std) {
		out.Mean, out.Std = &m.mean, &std
	}
	if length > 0 {
		out.Covered = min(1, m.known/float64(length))
	}
	for s := sample.Minor; s <= sample.Invalid; s++ {
		out.Alarm[s.String()] = m.alarm[s] / 1e9
	}
	return out
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
