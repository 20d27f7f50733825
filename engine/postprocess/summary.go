package postprocess

import (
	"fmt"
	"math"

	"varve.dev/varve/engine/sample"
)

// maxHeld bounds the bytes held of one bin. maxLoess bounds the samples of a bin that
// loess smooths, because its time grows with their square.
const (
	maxHeld  = 64 << 20
	maxLoess = 10_000
)

// bin holds the data about the numbers in a bin that a statistic needs.
type bin struct {
	moments
	worst  sample.Severity
	middle int64 // ns since 1970
	values []float64
	times  []int64 // of the values, in ns after the middle
	line   line
}

// reset begins a new bin. It keeps the memory and the last number.
func (b *bin) reset(middle int64) {
	last := b.last
	*b = bin{moments: noMoments(), middle: middle, values: b.values[:0], times: b.times[:0]}
	b.last = last
}

// summary yields a statistic for each bin.
type summary struct {
	*statistic
	out   *output
	bins  bins
	fills bool
	text  string // of the post-processor

	in      int64 // the current bin
	some    bool  // there is a current bin
	bin     bin
	result  []float64
	tag     sample.Tag
	scratch []float64
}

func newSummary(f *Func, out *output, from, to int64) processor {
	return summaryOf(f, out, from, to)
}

func summaryOf(f *Func, out *output, from, to int64) *summary {
	return &summary{
		statistic: f.stat, out: out, bins: f.bins(from, to), fills: f.fills, text: f.text, bin: bin{moments: noMoments()},
	}
}

func (s *summary) add(r *sample.Run) error {
	if !hasNumbers(r.Type) && !s.anything {
		return nil
	}
	for i := 0; i < r.Len() && !s.out.ended; {
		n, end := s.bins.segment(r, i)
		if !s.some || n != s.in {
			if err := s.commit(); err != nil {
				return err
			}
			s.fill(n)
			s.in, s.some = n, true
			s.bin.reset(s.bins.middle(n))
		}
		if err := s.addToBin(r, i, end); err != nil {
			return err
		}
		i = end
	}
	return nil
}

// addToBin adds samples i to j (exclusive) to the current bin.
func (s *summary) addToBin(r *sample.Run, i, j int) error {
	b := &s.bin
	b.worst = max(b.worst, worst(r.Tags[i:j]))
	switch {
	case !hasNumbers(r.Type):
		b.n += float64(j - i)
	case s.times || s.line:
		s.addWithTimes(r, i, j)
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
		return fmt.Errorf("post-processor %s needs more than %d MiB for one bin: %w", s.text, maxHeld>>20, ErrBound)
	}
	return nil
}

func (s *summary) addWithTimes(r *sample.Run, i, j int) {
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

// commit writes the result for the current bin, if there is one.
func (s *summary) commit() error {
	if !s.some {
		return nil
	}
	var err error
	if s.result, err = s.of(s.result[:0], &s.bin); err != nil {
		return fmt.Errorf("post-processor %s: %w", s.text, err)
	}
	s.tag = sample.MakeTag(s.bin.worst, 0)
	s.out.values(s.bin.middle, s.tag, s.result)
	if s.empty != nil {
		s.tag = s.empty(s.result, s.tag)
	}
	return nil
}

// fill writes results for the empty bins between the current bin and another.
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
