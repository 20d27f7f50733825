package query

import "varve.dev/varve/engine/rollup"

// joiner joins narrow bins to bins of one width. The narrow bins come in order of time.
type joiner struct {
	width int64
	empty bool // yield bins without samples
	lead  bool // yield the first bin even without samples
	now   int64
	yield func(*rollup.Bin) bool

	done  int64      // bins before this time are yielded or have no samples
	last  rollup.Bin // the latest bin; it has the value that the PV holds
	known bool       // there is a latest bin
	cur   rollup.Bin // the sum so far
	open  bool       // there is a sum
}

// hold sets the latest bin, which has the value that the PV holds.
func (j *joiner) hold(b *rollup.Bin) { j.last, j.known = *b, true }

func (j *joiner) addAll(bins []rollup.Bin) error {
	for i := range bins {
		if err := j.add(&bins[i]); err != nil {
			return err
		}
	}
	return nil
}

// add adds a bin to the sum.
func (j *joiner) add(b *rollup.Bin) error {
	start := rollup.Floor(b.Start, j.width)
	if j.open && j.cur.Start != start {
		if err := j.emit(); err != nil {
			return err
		}
	}
	if start < j.done {
		return nil // a wider bin covers it
	}
	if !j.open {
		if err := j.skipTo(start); err != nil {
			return err
		}
	}
	switch {
	case j.open:
		j.fillTo(b.Start)
		j.cur.Join(b)
	case b.Start == start:
		j.cur = *b
	case j.known:
		j.cur = j.last.Next(start, b.Start-start)
		j.cur.Join(b)
	default:
		j.cur = *b
		j.cur.Start, j.cur.Width = start, b.End()-start
	}
	j.open = true
	j.hold(b)
	return nil
}

// addWide yields a bin that is too wide or does not fit.
func (j *joiner) addWide(b *rollup.Bin) error {
	if j.open {
		if err := j.emit(); err != nil {
			return err
		}
	}
	if b.Start < j.done {
		return nil
	}
	if err := j.skipTo(b.Start); err != nil {
		return err
	}
	j.hold(b)
	j.done = b.End()
	return j.pass(b)
}

// begin yields a wide bin in which the range begins.
func (j *joiner) begin(b *rollup.Bin) error {
	j.hold(b)
	j.done, j.lead = b.End(), false
	return j.pass(b)
}

// fillTo extends the sum up to t by the value that the PV holds.
func (j *joiner) fillTo(t int64) {
	if gap := t - j.cur.End(); gap > 0 {
		held := j.last.Next(j.cur.End(), gap)
		j.cur.Join(&held)
	}
}

// emit yields the sum.
func (j *joiner) emit() error {
	j.open = false
	j.done = j.cur.Start + j.width
	j.fillTo(j.done)
	return j.pass(&j.cur)
}

// skipTo advances to t. If the options request bins without samples, it yields those before t.
func (j *joiner) skipTo(t int64) error {
	at := rollup.Floor(j.done+j.width-1, j.width)
	for ; (j.empty || j.lead) && j.known && at+j.width <= t && at <= j.now; at += j.width {
		j.lead = false
		b := j.last.Next(at, j.width)
		if err := j.pass(&b); err != nil {
			return err
		}
	}
	j.done, j.lead = max(j.done, t), false
	return nil
}

func (j *joiner) pass(b *rollup.Bin) error {
	if !j.yield(b) {
		return errStopped
	}
	return nil
}

// close yields the remaining bins up to end.
func (j *joiner) close(end int64) error {
	if j.open {
		if err := j.emit(); err != nil {
			return err
		}
	}
	return j.skipTo(end)
}
