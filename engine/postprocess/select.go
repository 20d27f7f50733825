package postprocess

import "varve.dev/varve/engine/sample"

// choice gives one sample of each bin as it is, or at the middle of the bin if it
// fills empty ones.
type choice struct {
	out   *output
	bins  bins
	last  bool // the last sample of a bin, not the first
	fills bool

	in   int64 // the bin at hand
	some bool
	one  sample.Run // the sample of it
}

func newFirstSample(o *Operator, out *output, from, to int64) processor {
	return &choice{out: out, bins: o.bins(from, to)}
}

func newLastSample(o *Operator, out *output, from, to int64) processor {
	return &choice{out: out, bins: o.bins(from, to), last: true}
}

func newFirstFill(o *Operator, out *output, from, to int64) processor {
	return &choice{out: out, bins: o.bins(from, to), fills: true}
}

func newLastFill(o *Operator, out *output, from, to int64) processor {
	return &choice{out: out, bins: o.bins(from, to), fills: true, last: true}
}

func (c *choice) add(r *sample.Run) error {
	for i := 0; i < r.Len() && !c.out.ended; {
		n, end := c.bins.stretch(r, i)
		fresh := !c.some || n != c.in
		if fresh {
			c.show(n)
			c.in, c.some = n, true
		}
		if k := end - 1; c.last || fresh {
			if !c.last {
				k = i
			}
			c.one.Reset(r.Type)
			c.one.AppendRange(r, k, k+1)
		}
		i = end
	}
	return nil
}

// show writes the sample of the bin at hand, and if it is to fill those before another
// bin, for them as well.
func (c *choice) show(before int64) {
	switch {
	case !c.some:
	case !c.fills:
		c.out.copy(&c.one, 0, 1)
	default:
		for n := c.in; n < before && !c.out.ended; n++ {
			c.out.at(c.bins.middle(n), &c.one)
		}
	}
}

func (c *choice) close() error {
	c.show(c.bins.last() + 1)
	return nil
}

// nth gives every n-th sample in the range, beginning with the first.
type nth struct {
	out  *output
	step int
	skip int // samples before the next one
}

func newNth(o *Operator, out *output, _, _ int64) processor {
	return &nth{out: out, step: int(o.args[0])}
}

func (n *nth) add(r *sample.Run) error {
	for ; n.skip < r.Len(); n.skip += n.step {
		n.out.copy(r, n.skip, n.skip+1)
	}
	n.skip -= r.Len()
	return nil
}

func (*nth) close() error { return nil }

// ncount gives the number of samples in the range, at its start.
type ncount struct {
	out  *output
	from int64
	n    int64
}

func newNCount(_ *Operator, out *output, from, _ int64) processor {
	return &ncount{out: out, from: from}
}

func (n *ncount) add(r *sample.Run) error {
	n.n += int64(r.Len())
	return nil
}

// close writes the number. One that the Appliance's INT can not hold is of 64 bits.
func (n *ncount) close() error {
	t := sample.Int32
	if n.n != int64(int32(n.n)) {
		t = sample.Int64
	}
	n.out.word(t, n.from, 0, uint64(n.n))
	return nil
}
