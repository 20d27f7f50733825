package visible

import (
	"context"
	"iter"
	"strings"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/access"
)

// Channels returns the states of captured PVs: see native.Channels.
type Channels interface {
	Statuses(ctx context.Context) iter.Seq2[capture.Status, error]
	Status(ctx context.Context, pv string) (s capture.Status, captured bool, err error)
}

// Reader returns a reader that hides PVs, and reads what r reads.
func Reader(r *query.Reader) *query.Reader {
	hiding := *r
	hiding.Store = &hidingStore{r.Store}
	if r.Recent != nil {
		hiding.Recent = hidingRecent{r.Recent}
	}
	hiding.Visible = func(ctx context.Context, pv string) bool { return access.From(ctx).Sees(pv) }
	return &hiding
}

// Note notes for the audit log that a request reads a PV, given its canonical name. It is for what is not read
// through a Reader, such as a cache.
func Note(ctx context.Context, pv string) {
	if q := access.From(ctx); q != nil {
		q.Reads(pv)
	}
}

// suffix makes a name that cannot exist, because names of PVs have no control characters.
const suffix = "\x01"

// nameFor returns the name to ask for: that of the PV, or one that cannot exist.
func nameFor(ctx context.Context, pv string) (name string, hidden bool) {
	if access.From(ctx).Reads(pv) {
		return pv, false
	}
	return pv + suffix, true
}

// hiddenError is an error about a hidden PV. Its text is that of an error about an unknown PV.
type hiddenError struct{ error }

func (e hiddenError) Error() string { return strings.ReplaceAll(e.error.Error(), suffix, "") }

// Unwrap returns the error that the text was taken from.
func (e hiddenError) Unwrap() error { return e.error }

func hide(err error, hidden bool) error {
	if err == nil || !hidden {
		return err
	}
	return hiddenError{err}
}

// hideAll yields the elements of a sequence, and hides their errors.
func hideAll[T any](all iter.Seq2[T, error], hidden bool) iter.Seq2[T, error] {
	if !hidden {
		return all
	}
	return func(yield func(T, error) bool) {
		for v, err := range all {
			if !yield(v, hide(err, true)) {
				return
			}
		}
	}
}

// hidingRecent hides the samples in memory.
type hidingRecent struct{ recent query.Recent }

// Recent implements query.Recent.
func (r hidingRecent) Recent(ctx context.Context, q query.RecentRequest) query.Held {
	name, hidden := nameFor(ctx, q.PV)
	q.PV = name
	held := r.recent.Recent(ctx, q)
	held.Missing = hide(held.Missing, hidden)
	return held
}

// Hiding returns channels that hide PVs.
func Hiding(c Channels) Channels { return hidingChannels{c} }

type hidingChannels struct{ channels Channels }

// Statuses implements Channels.
func (c hidingChannels) Statuses(ctx context.Context) iter.Seq2[capture.Status, error] {
	q := access.From(ctx)
	if q.SeesAll() {
		return c.channels.Statuses(ctx)
	}
	return func(yield func(capture.Status, error) bool) {
		for s, err := range c.channels.Statuses(ctx) {
			if err == nil && !q.Sees(s.PV) {
				continue
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// Status implements Channels.
func (c hidingChannels) Status(ctx context.Context, pv string) (capture.Status, bool, error) {
	name, hidden := nameFor(ctx, pv)
	s, captured, err := c.channels.Status(ctx, name)
	return s, captured, hide(err, hidden)
}
