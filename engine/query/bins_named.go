package query

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/store"
)

// bins reads the bins of a list of names.
func (n *named) bins(ctx context.Context, list []string, from, to, width int64, opts BinOptions) (*Bins, error) {
	ch, _, err := n.merged(ctx, list)
	if err != nil {
		return nil, err
	}
	b, err := n.binning(ctx, list, ch.Levels, from, to, width, opts)
	if err != nil {
		return nil, err
	}
	b.join.empty, b.join.lead = opts.Empty, opts.First
	complete := b.p.completeUntil
	for o := b.older; o != nil; o = o.older {
		complete = min(complete, o.p.completeUntil)
	}
	outside := n.base.Through != nil && b.seam > b.first
	return &Bins{CompleteUntil: complete, Width: b.width, Stored: len(b.levels) > 0, Outside: outside, All: b.all(ctx)}, nil
}

// binning returns a binning of the first name of a list, and in older those of the other names that are needed. All have
// the same levels and the same joiner, so that the bins of all names have the same width.
func (n *named) binning(
	ctx context.Context, list []string, levels []store.Level, from, to, width int64, opts BinOptions,
) (*binning, error) {
	b := n.base.binningOf(list[0], levels, width, opts.Width != 0)
	b.first, b.end = rollup.Floor(from, b.width), rollup.Floor(to, b.width)+b.width
	b.p.leaveOut(opts.Lost)
	failed := b.collectUnsealed(ctx, n.base)
	switch {
	case n.base.Through != nil || len(list) == 1:
		return b, b.findSeamNamed(ctx, n, list, opts.Lost, failed)
	case errors.Is(failed, ErrUnknownPV):
		return n.binning(ctx, list[1:], levels, from, to, width, opts)
	case failed != nil:
		return nil, failed
	}
	var err error
	b.joined = n.joined(list, opts.Lost)
	if b.seam, err = n.seam(ctx, list[0]); err != nil || b.seam <= b.first {
		return b, cmp.Or(err, n.joinFirst(ctx, b, list[0], opts.Lost))
	}
	opts.Width = b.width
	b.older, err = n.binning(ctx, list[1:], levels, b.first, b.end-1, b.width, opts)
	switch {
	case errors.Is(err, ErrUnknownPV):
		b.older, b.seam = nil, ownOnly
		return b, nil
	case err != nil:
		return nil, err
	}
	for o := b.older; o != nil; o = o.older {
		o.join = b.join
	}
	b.early, b.tooEarly, err = n.earlySamples(ctx, list[0], b.first, min(b.end, b.seam)-1)
	return b, err
}

// findSeamNamed finds the seam of a binning that has no older one. failed is the error of collecting its unsealed samples.
func (b *binning) findSeamNamed(ctx context.Context, n *named, list []string, lost *Losses, failed error) (err error) {
	if len(list) == 1 {
		return b.findSeam(ctx, n.base, lost, failed)
	}
	if failed != nil && !errors.Is(failed, ErrUnknownPV) {
		return failed
	}
	// Before the seam, the bins are computed from samples, as those of the older archive are.
	b.joined = n.joined(list, lost)
	if b.seam, err = n.seam(ctx, list[0]); err != nil {
		return err
	}
	if err := n.joinFirst(ctx, b, list[0], lost); err != nil {
		return err
	}
	_, err = b.joined(ctx, b.first, b.first)
	return err
}

// joinFirst does what binning.joinFirst does, also if the PV has no value yet at the beginning of the bins.
func (n *named) joinFirst(ctx context.Context, b *binning, pv string, lost *Losses) error {
	b.joinFirst()
	if b.seam > b.first {
		return nil
	}
	whole, err := n.isWholeSince(ctx, pv, b.seam)
	if err != nil || !whole {
		return err
	}
	own, err := n.base.Read(ctx, pv, b.first, b.first, Options{Lost: lost})
	if errors.Is(err, ErrUnknownPV) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, err := range own.All {
		return err
	}
	b.seam = b.first + 1
	return nil
}

// joined returns a function that reads the samples of all names of a list.
func (n *named) joined(list []string, lost *Losses) func(ctx context.Context, from, to int64) (*Samples, error) {
	return func(ctx context.Context, from, to int64) (*Samples, error) {
		return n.read(ctx, list, from, to, Options{Lost: lost})
	}
}

// runHistory yields the bins of a PV with former names.
func (b *binning) runHistory(ctx context.Context) error {
	var all []*binning
	for o := b; o != nil; o = o.older {
		o.findBounds()
		all = append(all, o)
	}
	for _, o := range slices.Backward(all) { // the latest value before the range stays
		last, known := b.join.last, b.join.known
		if err := o.findHeldValue(ctx); err != nil {
			return err
		}
		if known && b.join.last.Start < last.Start {
			b.join.hold(&last)
		}
	}
	if err := b.history(ctx, b.first, b.end, false); err != nil {
		return err
	}
	return b.join.close(b.end)
}

// history finds the bins in [lo, hi). Before the seam, they are those of the former names, except where samples of both
// names are in a bin:
//
//	lo        early sample       last     split               hi
//	  │ older    │unit│ older      │ unit   │ this name         │
//	  │          │ joined samples  │ joined │                   │
//	                              seam ──┘
//
// behind means that bins of another name come before.
func (b *binning) history(ctx context.Context, lo, hi int64, behind bool) error {
	switch {
	case lo >= hi:
		return nil
	case b.seam <= lo:
		return b.coverAll(ctx, lo, hi, behind)
	case b.older == nil: // all samples of both archives
		return b.computeJoined(ctx, lo, hi, b.unit())
	}
	unit := b.unit()
	split, last := hi, hi
	if b.seam < hi {
		split = min(hi, rollup.Floor(b.seam-1, unit)+unit)
		last = max(lo, split-unit)
	}
	if err := b.beforeSeam(ctx, lo, last, behind); err != nil {
		return err
	}
	if err := b.computeJoined(ctx, last, split, unit); err != nil {
		return err
	}
	return b.coverAll(ctx, split, hi, true)
}

// beforeSeam finds the bins in [lo, hi), which ends before the seam.
func (b *binning) beforeSeam(ctx context.Context, lo, hi int64, behind bool) error {
	unit := b.unit()
	if b.tooEarly {
		return b.computeJoined(ctx, lo, hi, unit)
	}
	for _, t := range b.early {
		start := rollup.Floor(t, unit)
		if start < lo || start >= hi {
			continue
		}
		if err := b.older.history(ctx, lo, start, behind); err != nil {
			return err
		}
		if err := b.computeJoined(ctx, start, start+unit, unit); err != nil {
			return err
		}
		lo, behind = start+unit, true
	}
	return b.older.history(ctx, lo, hi, behind)
}

// coverAll finds the bins of this name in [lo, hi).
func (b *binning) coverAll(ctx context.Context, lo, hi int64, behind bool) error {
	if behind {
		return b.coverRange(ctx, b.behindSeam(lo, hi))
	}
	return b.coverRange(ctx, missing{lo, hi, b.anyFresh(Earliest, lo)})
}
