package postprocess

import "varve.dev/varve/engine/sample"

// choice yields one sample of each bin. If choice fills empty bins, the sample gets the time
// of the middle of the bin. Otherwise it keeps its time.
type choice struct {
	out   *output
	bins  bins
	last  bool // choose the last sample of a bin, not the first
	fills bool

	in   int64      // the current bin
	some bool       // there is a current bin
	one  sample.Run // its sample
}

func newFirstSample(f *Func, out *output, from, to int64) processor {
	return &choice{out: out, bins: f.bins(from, to)}
}

func newLastSample(f *Func, out *output, from, to int64) processor {
	return &choice{out: out, bins: f.bins(from, to), last: true}
}

func newFirstFill(f *Func, out *output, from, to int64) processor {
	return &choice{out: out, bins: f.bins(from, to), fills: true}
}

func newLastFill(f *Func, out *output, from, to int64) processor {
	return &choice{out: out, bins: f.bins(from, to), fills: true, last: true}
}

func (c *choice) add(r *sample.Run) error {
	for i := 0; i < r.Len() && !c.out.ended; {
		n, end := c.bins.segment(r, i)
		fresh := !c.some || n != c.in
		if fresh {
			c.writeUpTo(n)
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

// writeUpTo writes the sample of the current bin. If choice fills empty bins, it repeats the
// sample for the bins that follow, up to the given bin (exclusive).
func (c *choice) writeUpTo(before int64) {
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
	c.writeUpTo(c.bins.last() + 1)
	return nil
}

// nth yields every n-th sample in the range, beginning with the first.
type nth struct {
	out  *output
	step int
	skip int // samples before the next one
}

func newNth(f *Func, out *output, _, _ int64) processor {
	return &nth{out: out, step: int(f.args[0])}
}

func (n *nth) add(r *sample.Run) error {
	for ; n.skip < r.Len(); n.skip += n.step {
		n.out.copy(r, n.skip, n.skip+1)
	}
	n.skip -= r.Len()
	return nil
}

func (*nth) close() error { return nil }

// ncount yields the number of samples in the range, with the time of its start.
type ncount struct {
	out  *output
	from int64
	n    int64
}

func newNCount(_ *Func, out *output, from, _ int64) processor {
	return &ncount{out: out, from: from}
}

func (n *ncount) add(r *sample.Run) error {
	n.n += int64(r.Len())
	return nil
}

// close writes the number. If it exceeds the Appliance's INT, it has 64 bits.
func (n *ncount) close() error {
	t := sample.Int32
	if n.n != int64(int32(n.n)) {
		t = sample.Int64
	}
	n.out.word(t, n.from, 0, uint64(n.n))
	return nil
}
