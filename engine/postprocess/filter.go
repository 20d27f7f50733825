package postprocess

import (
	"fmt"
	"math"
	"slices"

	"varve.dev/varve/engine/sample"
)

// flyers yields the samples that are further from the mean of their bin than a number of
// standard deviations, or all other samples. Infinite samples are further, and do not count in the
// mean and the deviation. It never yields NaN.
type flyers struct {
	out   *output
	bins  bins
	limit float64 // in standard deviations
	away  bool    // yield the samples beyond the limit, not the others
	text  string  // of the post-processor

	in      int64         // the current bin
	held    []*sample.Run // samples of the current bin, of one type each
	size    int           // bytes of held
	moments moments
	scratch []float64
}

func newFlyers(f *Func, out *output, from, to int64) processor {
	return &flyers{out: out, bins: f.bins(from, to), limit: f.args[1], away: true, text: f.text, moments: noMoments()}
}

func newIgnoreFlyers(f *Func, out *output, from, to int64) processor {
	return &flyers{out: out, bins: f.bins(from, to), limit: f.args[1], text: f.text, moments: noMoments()}
}

func (f *flyers) add(r *sample.Run) error {
	if !hasNumbers(r.Type) {
		return nil
	}
	for i := 0; i < r.Len() && !f.out.ended; {
		n, end := f.bins.segment(r, i)
		if n != f.in {
			f.writeBin()
			f.in = n
		}
		if f.hold(r, i, end); f.size > maxHeld {
			return fmt.Errorf("post-processor %s needs more than %d MiB for one bin: %w", f.text, maxHeld>>20, ErrBound)
		}
		f.scratch = slices.DeleteFunc(appendNumbers(f.scratch[:0], r, i, end), func(v float64) bool { return math.IsInf(v, 0) })
		if len(f.scratch) > 0 {
			m := momentsOf(f.scratch, toVariance, false)
			f.moments.join(&m)
		}
		i = end
	}
	return nil
}

// hold holds samples i to j (exclusive) of a run until the bin ends.
func (f *flyers) hold(r *sample.Run, i, j int) {
	k := len(f.held) - 1
	if k < 0 || f.held[k].Type != r.Type {
		f.held = append(f.held, &sample.Run{Type: r.Type})
		k++
	}
	before := f.held[k].Size()
	f.held[k].AppendRange(r, i, j)
	f.size += f.held[k].Size() - before
}

// writeBin writes the samples of the current bin that pass.
func (f *flyers) writeBin() {
	limit := f.limit * math.Sqrt(f.moments.variance())
	for _, r := range f.held {
		for i := range r.Len() {
			v := number(r, i)
			if !math.IsNaN(v) && f.away == (math.IsInf(v, 0) || math.Abs(v-f.moments.mean) > limit) {
				f.out.copy(r, i, i+1)
			}
		}
	}
	f.held, f.size = f.held[:0], 0
	f.moments = noMoments()
}

func (f *flyers) close() error {
	f.writeBin()
	return nil
}

// deadBand yields the samples that differ from the last yielded sample by more than a band, as
// ADEL of a record does. It also yields samples whose severity differs, all samples that are
// not finite, the first finite sample after them, and the first sample after a gap.
type deadBand struct {
	out    *output
	band   float64
	breaks []int64         // as in Func
	some   bool            // a sample was yielded
	last   float64         // value of the sample yielded last
	sev    sample.Severity // its severity
}

func newDeadBand(f *Func, out *output, _, _ int64) processor {
	return &deadBand{out: out, band: f.args[0], breaks: f.breaks}
}

func (d *deadBand) add(r *sample.Run) error {
	if !hasNumbers(r.Type) {
		return nil
	}
	for i := range r.Len() {
		v, sev := number(r, i), r.Tags[i].Severity()
		// If a value is not finite, the difference is infinite or NaN, and the sample is
		// yielded.
		if after := d.afterGap(r.Times[i]); d.some && !after && sev == d.sev && math.Abs(v-d.last) <= d.band {
			continue
		}
		d.some, d.last, d.sev = true, v, sev
		d.out.copy(r, i, i+1)
	}
	return nil
}

// afterGap reports whether a sample is the first one after a gap.
func (d *deadBand) afterGap(t int64) (after bool) {
	for len(d.breaks) > 0 && d.breaks[0] <= t {
		d.breaks, after = d.breaks[1:], true
	}
	return after
}

func (*deadBand) close() error { return nil }
