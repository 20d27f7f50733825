package compare

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/upstream"
)

// item is a sample and its type.
type item struct {
	sample.Sample
	typ sample.Type
}

// same reports whether two samples are equal, but for their times.
func (a *item) same(b *item) bool { return a.typ == b.typ && a.sameValue(b) && a.Tag.SameAlarm(b.Tag) }

func (a *item) sameValue(b *item) bool { return a.Word == b.Word && slices.Equal(a.Bytes, b.Bytes) }

// cursor reads the samples of one archive, one by one.
type cursor struct {
	next    func() (*sample.Run, error, bool)
	run     *sample.Run // nil at the end
	i       int
	read    uint64
	unknown bool // the archive does not know the PV
}

// newCursor returns a cursor at the first sample. The caller calls stop in the end.
func newCursor(samples iter.Seq2[*sample.Run, error]) (c *cursor, stop func(), err error) {
	c = &cursor{}
	c.next, stop = iter.Pull2(samples)
	err = c.load()
	if errors.Is(err, upstream.ErrUnknownPV) {
		c.unknown, err = true, nil
	}
	return c, stop, err
}

// load requests the next run.
func (c *cursor) load() error {
	run, err, more := c.next()
	c.run, c.i = nil, 0
	if err != nil {
		return err
	}
	if more {
		c.run = run
	}
	return nil
}

// at returns the time of the current sample. The cursor must not be at its end.
func (c *cursor) at() int64 { return c.run.Times[c.i] }

// item returns the current sample, which is valid until the cursor moves.
func (c *cursor) item() item { return item{c.run.At(c.i), c.run.Type} }

// alone reports whether the next sample certainly has another time.
func (c *cursor) alone() bool { return c.i+1 < c.run.Len() && c.run.Times[c.i+1] != c.at() }

// advance moves to the next sample.
func (c *cursor) advance() error {
	c.read++
	if c.i++; c.i < c.run.Len() {
		return nil
	}
	return c.load()
}

// maxEqual is how many samples with one time are compared.
const maxEqual = 1024

// take returns copies of all samples with a time, and moves behind them.
func (c *cursor) take(at int64) (items []item, err error) {
	for c.run != nil && c.at() == at {
		if len(items) == maxEqual {
			return nil, fmt.Errorf("more than %d samples have the time %s", maxEqual, instant(at))
		}
		s := c.item()
		s.Bytes = slices.Clone(s.Bytes)
		items = append(items, s)
		if err := c.advance(); err != nil {
			return nil, err
		}
	}
	return items, nil
}
