package postprocess

import (
	"fmt"
	"math"

	"varve.dev/varve/engine/sample"
)

// flyers gives the samples that are further from the mean of their bin than some
// standard deviations, or all others. NaN is neither.
type flyers struct {
	out   *output
	bins  bins
	limit float64 // in standard deviations
	away  bool    // those that are further
	text  string  // of the operator

	in      int64
	held    sample.Run // samples of the bin at hand
	moments moments
	scratch []float64
}

func newFlyers(o *Operator, out *output, from, to int64) processor {
	return &flyers{out: out, bins: o.bins(from, to), limit: o.args[1], away: true, text: o.text, moments: noMoments()}
}

func newIgnoreFlyers(o *Operator, out *output, from, to int64) processor {
	return &flyers{out: out, bins: o.bins(from, to), limit: o.args[1], text: o.text, moments: noMoments()}
}

func (f *flyers) add(r *sample.Run) error {
	if !hasNumbers(r.Type) {
		return nil
	}
	for i := 0; i < r.Len() && !f.out.ended; {
		n, end := f.bins.stretch(r, i)
		if n != f.in || r.Type != f.held.Type {
			f.show()
			f.in = n
			f.held.Reset(r.Type)
		}
		f.held.AppendRange(r, i, end)
		if f.held.Size() > maxHeld {
			return fmt.Errorf("operator %s holds more than %d MiB of a bin: %w", f.text, maxHeld>>20, ErrBound)
		}
		f.scratch = appendNumbers(f.scratch[:0], r, i, end)
		if len(f.scratch) > 0 {
			m := momentsOf(f.scratch, toVariance, false)
			f.moments.join(&m)
		}
		i = end
	}
	return nil
}

// show writes what passes of the bin at hand.
func (f *flyers) show() {
	limit := f.limit * math.Sqrt(f.moments.variance())
	for i := range f.held.Len() {
		off := math.Abs(number(&f.held, i) - f.moments.mean)
		if f.away && off > limit || !f.away && off <= limit {
			f.out.copy(&f.held, i, i+1)
		}
	}
	f.held.Reset(f.held.Type)
	f.moments = noMoments()
}

func (f *flyers) close() error {
	f.show()
	return nil
}

// deadBand gives the samples that differ by more than a band from the one given
// before, as ADEL of a record does; also those of another severity, and those at which
// the value begins or ceases to be finite.
type deadBand struct {
	out  *output
	band float64
	some bool
	last float64 // of the sample given before
	sev  sample.Severity
}

func newDeadBand(o *Operator, out *output, _, _ int64) processor {
	return &deadBand{out: out, band: o.args[0]}
}

func (d *deadBand) add(r *sample.Run) error {
	if !hasNumbers(r.Type) {
		return nil
	}
	for i := range r.Len() {
		v, sev := number(r, i), r.Tags[i].Severity()
		// What is not finite makes the difference infinite or NaN: it is given.
		if d.some && sev == d.sev && math.Abs(v-d.last) <= d.band {
			continue
		}
		d.some, d.last, d.sev = true, v, sev
		d.out.copy(r, i, i+1)
	}
	return nil
}

func (*deadBand) close() error { return nil }
