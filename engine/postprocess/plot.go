package postprocess

import (
	"math"

	"varve.dev/varve/engine/sample"
)

// plotBins yields the points that a plot of a bin needs. If a bin has one or two samples,
// these are the points. Otherwise the points are the first, the least, the greatest and
// the last number, at the quarters of the bin.
type plotBins struct {
	out  *output
	bins bins

	in            int64   // the current bin
	n             int     // samples in it
	first, second plotted // second is the last sample so far
	min, max      float64
	worst         sample.Severity
	scratch       []float64
}

type plotted struct {
	time int64
	v    float64
}

func newPlotBins(f *Func, out *output, from, to int64) processor {
	return &plotBins{out: out, bins: f.bins(from, to)}
}

func (p *plotBins) add(r *sample.Run) error {
	if !hasNumbers(r.Type) {
		return nil
	}
	for i := 0; i < r.Len() && !p.out.ended; {
		n, end := p.bins.segment(r, i)
		if n != p.in {
			p.writeBin()
			p.in = n
		}
		p.addToBin(r, i, end)
		i = end
	}
	return nil
}

func (p *plotBins) addToBin(r *sample.Run, i, j int) {
	if p.n == 0 {
		p.first = plotted{r.Times[i], number(r, i)}
		p.min, p.max, p.worst = math.NaN(), math.NaN(), sample.NoAlarm
	}
	p.n += j - i
	p.second = plotted{r.Times[j-1], number(r, j-1)}
	p.worst = max(p.worst, worst(r.Tags[i:j]))
	if p.scratch = appendNumbers(p.scratch[:0], r, i, j); len(p.scratch) == 0 {
		return
	}
	lo, hi := extremes(p.scratch)
	if math.IsNaN(p.min) {
		p.min, p.max = lo, hi
	}
	p.min, p.max = min(p.min, lo), max(p.max, hi)
}

func (p *plotBins) writeBin() {
	tag := sample.MakeTag(p.worst, 0)
	put := func(t int64, v float64) { p.out.word(sample.Float64, t, tag, math.Float64bits(v)) }
	start, quarter := p.bins.start(p.in), p.bins.width/4
	switch {
	case p.n > 2:
		put(start, p.first.v)
		put(start+quarter, p.min)
		put(start+2*quarter, p.max)
		put(start+3*quarter, p.second.v)
	case p.n > 0:
		put(p.first.time, p.first.v)
		if p.n == 2 {
			put(p.second.time, p.second.v)
		}
	}
	p.n = 0
}

func (p *plotBins) close() error {
	p.writeBin()
	return nil
}
