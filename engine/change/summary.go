package change

import (
	"math"
	"slices"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
)

// maxTexts is how many texts of a window are remembered.
const maxTexts = 32

// summary is what is known of a PV in one window.
type summary struct {
	all   rollup.Bin // all bins of the window, joined
	known bool       // there is a bin
	// alarm is the sum of the weights of the severities of the bins, times their widths in ns.
	alarm float64
	// silent is the time in ns of the bins without samples.
	silent int64
	// texts are the times in ns in bins by their text.
	texts map[string]int64
	// gap is the share of the window without updates, or NaN if nobody has looked.
	gap float64
}

// weights are how much time in an alarm counts.
var weights = map[sample.Severity]float64{sample.Minor: 1, sample.Major: 2, sample.Invalid: 4}

func (s *summary) add(b *rollup.Bin) {
	if s.known {
		s.all.Join(b)
	} else {
		s.all, s.known = *b, true
		s.all.States = slices.Clone(b.States) // the bin is valid until the next one
	}
	s.alarm += weights[b.Severity] * float64(b.Width)
	if b.Count == 0 {
		s.silent += b.Width
	}
	if b.Kind == rollup.Text && b.Held {
		if s.texts == nil {
			s.texts = map[string]int64{}
		}
		if _, has := s.texts[b.Text]; has || len(s.texts) < maxTexts {
			s.texts[b.Text] += b.Width
		}
	}
}

// holds reports whether the PV held a value of a kind.
func (s *summary) holds(k rollup.Kind) bool { return s.known && s.all.Kind == k && s.all.Covered > 0 }

// mean returns the mean of numbers, or NaN.
func (s *summary) mean() float64 {
	if !s.holds(rollup.Number) || math.IsInf(s.all.Mean, 0) {
		return math.NaN()
	}
	return s.all.Mean
}

// spread returns the standard deviation of numbers, or NaN. It returns 0 for a deviation so small that only
// rounding can have caused it.
func (s *summary) spread() float64 {
	m := s.mean()
	if math.IsNaN(m) || math.IsNaN(s.all.Std) || math.IsInf(s.all.Std, 0) {
		return math.NaN()
	}
	if s.all.Std < rounding*math.Abs(m) {
		return 0
	}
	return s.all.Std
}

// rounding is the relative error of the statistics of bins that are joined.
const rounding = 1e-9

// seconds returns how long the window was observed.
func (s *summary) seconds() float64 { return float64(s.all.Width) / 1e9 }

// connected returns how long updates could arrive, in s.
func (s *summary) connected() float64 {
	if s.gap > 0 {
		return s.seconds() * (1 - s.gap)
	}
	return s.seconds()
}

// rate returns the samples per second, or NaN.
func (s *summary) rate() float64 {
	if !s.known || s.connected() <= 0 {
		return math.NaN()
	}
	return float64(s.all.Count) / s.connected()
}

// share returns the share of time in a state.
func (s *summary) share(state uint32) float64 {
	total := s.all.Rest
	held := int64(0)
	for _, st := range s.all.States {
		total += st.Time
		if st.State == state {
			held = st.Time
		}
	}
	if total == 0 {
		return 0
	}
	return float64(held) / float64(total)
}
