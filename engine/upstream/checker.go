package upstream

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"varve.dev/varve/engine/pbfile"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
)

const (
	// batch is the number of samples that are checked and yielded together.
	batch = 4096
	// maxEqual is how many samples with one time an answer may have.
	maxEqual = 1024
	// maxEqualBytes is the size of strings and arrays with one time after which no sample may follow.
	maxEqualBytes = 32 << 20
)

// checker checks the samples of an answer, and yields those in the range.
type checker struct {
	pv       string
	from, to int64
	// lead also yields the last sample before from, first.
	lead bool
	// strict refuses samples that are far from the range. after is the time of the latest sample that the server sent
	// for earlier ranges: if a sample is later and before from, an earlier answer lacked it.
	strict bool
	after  int64
	change func(pbfile.Change) // receives the fields that samples bring; may be nil
	yield  func(*sample.Run) bool

	before sample.Run   // the last sample before from, until it is yielded
	run    sample.Run   // as read
	out    sample.Run   // to yield
	equal  []sample.Run // the samples with the time last
	size   int          // of their strings and arrays, in bytes
	last   int64
	begun  bool // there was a sample
	done   bool // all samples that follow are after the range
	leads  int  // number of samples before from
	bad    error
}

// read reads an answer to its end, or to the end of the range.
func (c *checker) read(in io.Reader) error {
	r := pbfile.NewReader(in)
	r.Change = c.change
	r.Problem = func(p pbfile.Problem) {
		if c.bad == nil {
			c.bad = fmt.Errorf("the answer is damaged at byte %d: %w", p.Offset, p.Err)
		}
	}
	h, err := r.Header()
	if errors.Is(err, pbfile.ErrEmpty) {
		return c.bad // a PV without samples has an empty answer
	}
	for err == nil {
		if err = c.header(&h); err != nil {
			return err
		}
		if err = c.chunk(r, h.Type); errors.Is(err, pbfile.ErrNextChunk) {
			h, err = r.Next()
		}
		if c.bad != nil {
			return c.bad
		}
		if c.done {
			return nil
		}
	}
	if errors.Is(err, io.EOF) {
		return c.bad
	}
	return err
}

// header checks what the header of a chunk says.
func (c *checker) header(h *pbfile.Header) error {
	if h.Type == sample.Unknown {
		return fmt.Errorf("samples of payload type %d are not supported", h.Payload)
	}
	return c.named(h)
}

// named checks the name in a header.
func (c *checker) named(h *pbfile.Header) error {
	if pvname.Canonical(h.PV) != pvname.Canonical(c.pv) {
		return fmt.Errorf("the server sent samples of another PV, %.100q", h.PV)
	}
	return nil
}

// chunk reads the samples behind a header. It returns nil only if the range has ended.
func (c *checker) chunk(r *pbfile.Reader, t sample.Type) error {
	for {
		c.run.Reset(t)
		end := r.Read(&c.run, batch)
		if c.bad != nil {
			return c.bad
		}
		if err := c.pass(); err != nil || c.done {
			return err
		}
		if end != nil {
			return end
		}
	}
}

// pass yields the samples of the run that are in the range, each once.
func (c *checker) pass() error {
	c.out.Reset(c.run.Type)
	for i, at := range c.run.Times {
		if c.begun && at < c.last {
			return fmt.Errorf("the server sent samples out of order: %s after %s", instant(at), instant(c.last))
		}
		if err := c.near(at); err != nil {
			return err
		}
		if at > c.to && !c.strict {
			c.done = true
			break
		}
		known, err := c.repeated(i)
		if err != nil {
			return err
		}
		switch {
		case known || at > c.to:
		case at >= c.from:
			c.out.AppendRange(&c.run, i, i+1)
		case c.lead:
			c.before.Reset(c.run.Type)
			c.before.AppendRange(&c.run, i, i+1)
		}
	}
	if c.out.Len() == 0 {
		return nil
	}
	if err := c.flushLead(); err != nil {
		return err
	}
	if !c.yield(&c.out) {
		return errStopped
	}
	return nil
}

const (
	// maxLeads is how many samples a strict checker accepts before the range. An Appliance may send the last one of
	// each of its stores.
	maxLeads = 16
	// maxAfter is how long after the range a strict checker accepts samples, in ns.
	maxAfter = int64(time.Second)
)

// near refuses the times that a strict checker does not accept.
func (c *checker) near(at int64) error {
	switch {
	case !c.strict || at >= c.from && at <= c.to:
		return nil
	case at > c.to:
		if at-c.to > maxAfter {
			return fmt.Errorf("the server sent a sample of another time than requested: %s", instant(at))
		}
		return nil
	case at > c.after:
		return fmt.Errorf("the server sent a sample of %s that its earlier answer for that time lacked", instant(at))
	}
	if c.leads++; c.leads > maxLeads {
		return fmt.Errorf("the server sent samples of another time than requested, such as %s", instant(at))
	}
	return nil
}

// flushLead yields the last sample before the range, unless it was yielded before, or is not wanted.
func (c *checker) flushLead() error {
	if c.before.Len() > 0 && !c.yield(&c.before) {
		return errStopped
	}
	c.before.Reset(sample.Unknown)
	return nil
}

// repeated reports whether sample i was sent before. It remembers the samples of the latest time.
func (c *checker) repeated(i int) (bool, error) {
	s := c.run.At(i)
	if !c.begun || s.Time != c.last {
		c.equal, c.size, c.begun, c.last = c.equal[:0], 0, true, s.Time
	}
	for i := range c.equal {
		r := &c.equal[i]
		if has := r.At(0); r.Type == c.run.Type && has.Same(&s) {
			return true, nil
		}
	}
	if len(c.equal) == maxEqual || c.size > maxEqualBytes {
		return false, fmt.Errorf("the server sent more than %d samples, or %d MiB, with the time %s", maxEqual, maxEqualBytes>>20, instant(s.Time))
	}
	c.equal = slices.Grow(c.equal, 1)[:len(c.equal)+1]
	one := &c.equal[len(c.equal)-1] // whose memory is used again
	one.Reset(c.run.Type)
	one.Append(&s)
	c.size += len(s.Bytes)
	return false, nil
}

func instant(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
