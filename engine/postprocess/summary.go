package postprocess

import (
	"fmt"
	"math"

	"varve.dev/varve/engine/sample"
)

// maxHeld bounds the bytes that are held of a bin, and maxLoess the samples that loess
// takes: its time grows with their square.
const (
	maxHeld  = 64 << 20
	maxLoess = 10_000
)

// bin is what is known of the numbers in a bin.
type bin struct {
	moments
	worst  sample.Severity
	middle int64 // ns since 1970
	values []float64
	times  []int64 // of values, in ns after the middle
	line   line
}

// reset begins a bin, keeping memory, and the last number there was.
func (b *bin) reset(middle int64) {
	last := b.last
	*b = bin{moments: noMoments(), middle: middle, values: b.values[:0], times: b.times[:0]}
	b.last = last
}

// summary gives a statistic for each bin.
type summary struct {
	*statistic
	out   *output
	bins  bins
	fills bool
	text  string // of the operator

	in      int64 // the bin at hand
	some    bool  // a bin is at hand
	bin     bin
	result  []float64
	tag     sample.Tag
	scratch []float64
}

func newSummary(o *Operator, out *output, from, to int64) processor {
	return summaryOf(o, out, from, to)
}

func summaryOf(o *Operator, out *output, from, to int64) *summary {
	return &summary{
		statistic: o.stat, out: out, bins: o.bins(from, to), fills: o.fills, text: o.text, bin: bin{moments: noMoments()},
	}
}

func (s *summary) add(r *sample.Run) error {
	if !hasNumbers(r.Type) && !s.anything {
		return nil
	}
	for i := 0; i < r.Len() && !s.out.ended; {
		n, end := s.bins.stretch(r, i)
		if !s.some || n != s.in {
			if err := s.commit(); err != nil {
				return err
			}
			s.fill(n)
			s.in, s.some = n, true
			s.bin.reset(s.bins.middle(n))
		}
		if err := s.take(r, i, end); err != nil {
			return err
		}
		i = end
	}
	return nil
}

// take adds samples i to j (exclusive) to the bin at hand.
func (s *summary) take(r *sample.Run, i, j int) error {
	b := &s.bin
	b.worst = max(b.worst, worst(r.Tags[i:j]))
	switch {
	case !hasNumbers(r.Type):
		b.n += float64(j - i)
	case s.times || s.line:
		s.takeTimes(r, i, j)
	case s.values:
		b.values = appendNumbers(b.values, r, i, j)
	default:
		s.scratch = appendNumbers(s.scratch[:0], r, i, j)
		if len(s.scratch) > 0 {
			m := momentsOf(s.scratch, s.up, s.extremes)
			b.join(&m)
		}
	}
	if 8*(len(b.values)+len(b.times)) > maxHeld {
		return fmt.Errorf("operator %s holds more than %d MiB of a bin: %w", s.text, maxHeld>>20, ErrBound)
	}
	return nil
}

func (s *summary) takeTimes(r *sample.Run, i, j int) {
	b := &s.bin
	for ; i < j; i++ {
		v := number(r, i)
		switch {
		case math.IsNaN(v):
		case s.line:
			b.line.add(r.Times[i], v, b.middle)
		default:
			b.values = append(b.values, v)
			b.times = append(b.times, r.Times[i]-b.middle)
		}
	}
}

// commit writes the result for the bin at hand, if there is one.
func (s *summary) commit() error {
	if !s.some {
		return nil
	}
	var err error
	if s.result, err = s.of(s.result[:0], &s.bin); err != nil {
		return fmt.Errorf("operator %s: %w", s.text, err)
	}
	s.tag = sample.MakeTag(s.bin.worst, 0)
	s.out.values(s.bin.middle, s.tag, s.result)
	if s.empty != nil {
		s.tag = s.empty(s.result, s.tag)
	}
	return nil
}

// fill writes results for the empty bins between the one at hand and another.
func (s *summary) fill(to int64) {
	if !s.fills || !s.some {
		return
	}
	for n := s.in + 1; n < to && !s.out.ended; n++ {
		s.out.values(s.bins.middle(n), s.tag, s.result)
	}
}

func (s *summary) close() error {
	if err := s.commit(); err != nil {
		return err
	}
	s.fill(s.bins.last() + 1)
	return nil
}
