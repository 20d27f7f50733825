package compare

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/sample"
)

// Samples yields the samples of a PV in an archive, with times in [from, to], in ns since 1970, by time. Its
// error is upstream.ErrUnknownPV if the archive does not know the PV.
type Samples func(ctx context.Context, pv string, from, to int64) iter.Seq2[*sample.Run, error]

// Options are the options of a comparison.
type Options struct {
	Here, There Samples
	// From and To are the first and the last time, in ns since 1970.
	From, To int64
	// Near is how far the times of two equal samples may be apart to differ in the time stamp only. If they
	// are further apart, each one is missing in the other archive.
	Near time.Duration
	// Examples is the number of examples of each kind that a result has.
	Examples int
}

// PV compares the samples of a PV. The result is valid after an error, too, as far as the comparison went.
func PV(ctx context.Context, pv string, o Options) (*Result, error) {
	c := &comparison{opts: &o, result: &Result{PV: pv, Counts: map[Kind]uint64{}}}
	err := c.run(ctx, pv)
	if err != nil {
		c.result.Error = err.Error()
	}
	return c.result, err
}

// comparison compares one PV. In each pair, index 0 is the archive here and index 1 the archive there.
type comparison struct {
	opts      *Options
	result    *Result
	cursors   [2]*cursor
	unmatched [2]unmatched
}

func (c *comparison) run(ctx context.Context, pv string) error {
	for i, samples := range []Samples{c.opts.Here, c.opts.There} {
		cur, stop, err := newCursor(samples(ctx, pv, c.opts.From, c.opts.To))
		defer stop()
		if err != nil {
			return err
		}
		c.cursors[i] = cur
	}
	here, there := c.cursors[0], c.cursors[1]
	c.result.UnknownHere, c.result.UnknownThere = here.unknown, there.unknown
	if here.unknown && there.unknown {
		return errors.New("neither archive knows the PV")
	}
	for here.run != nil || there.run != nil {
		if err := c.step(); err != nil {
			return err
		}
		c.result.Here, c.result.There = here.read, there.read
	}
	c.expire(math.MaxInt64)
	return ctx.Err()
}

// step compares the samples of the earliest time.
func (c *comparison) step() error {
	here, there := c.cursors[0], c.cursors[1]
	if here.run != nil && there.run != nil && here.at() == there.at() && here.alone() && there.alone() {
		a, b := here.item(), there.item()
		if a.same(&b) {
			c.result.Equal++
			return errors.Join(here.advance(), there.advance())
		}
	}
	at := int64(math.MaxInt64)
	for _, cur := range c.cursors {
		if cur.run != nil {
			at = min(at, cur.at())
		}
	}
	var items [2][]item
	for i, cur := range c.cursors {
		var err error
		if items[i], err = cur.take(at); err != nil {
			return err
		}
	}
	c.expire(at - int64(c.opts.Near))
	c.compare(items[0], items[1])
	return nil
}

// compare compares all samples of one time.
func (c *comparison) compare(here, there []item) {
	here = slices.DeleteFunc(here, func(a item) bool {
		i := slices.IndexFunc(there, func(b item) bool { return a.same(&b) })
		if i >= 0 {
			there = slices.Delete(there, i, i+1)
			c.result.Equal++
		}
		return i >= 0
	})
	n := min(len(here), len(there))
	for i := range n {
		c.differ(&here[i], &there[i])
	}
	for i, rest := range [2][]item{here[n:], there[n:]} {
		for _, s := range rest {
			c.single(i, s)
		}
	}
}

// differ notes how two samples of one time differ.
func (c *comparison) differ(a, b *item) {
	at := a.Time
	switch {
	case a.typ != b.typ:
		c.note(Type, at, a.typ.String(), b.typ.String())
	case !a.sameValue(b):
		c.note(Value, at, text(a), text(b))
	}
	if !a.Tag.SameAlarm(b.Tag) {
		c.note(Alarm, at, alarm(a), alarm(b))
	}
}

// single handles a sample that only one archive has at its time.
func (c *comparison) single(side int, s item) {
	if other, found := c.unmatched[1-side].match(&s, int64(c.opts.Near)); found {
		here, there := &s, &other
		if side == 1 {
			here, there = there, here
		}
		c.note(Time, here.Time, instant(here.Time), instant(there.Time))
		return
	}
	for _, old := range c.unmatched[side].add(s) {
		c.missing(side, &old)
	}
}

// expire counts the unmatched samples from before a time as missing.
func (c *comparison) expire(before int64) {
	for side := range c.unmatched {
		for _, s := range c.unmatched[side].expire(before) {
			c.missing(side, &s)
		}
	}
}

// missing notes a sample of one archive that is missing in the other one.
func (c *comparison) missing(side int, s *item) {
	if side == 0 {
		c.note(MissingThere, s.Time, text(s), "")
		return
	}
	c.note(MissingHere, s.Time, "", text(s))
}

// note counts a difference, and keeps it if it is one of the first of its kind.
func (c *comparison) note(k Kind, at int64, here, there string) {
	if c.result.Counts[k]++; c.result.Counts[k] <= uint64(c.opts.Examples) {
		c.result.Examples = append(c.result.Examples, Difference{Kind: k, At: time.Unix(0, at).UTC(), Here: here, There: there})
	}
}
