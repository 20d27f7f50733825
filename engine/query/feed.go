package query

import (
	"context"
	"iter"
	"slices"
	"sort"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Rows is what reading samples needs of a store.
type Rows interface {
	Channel(ctx context.Context, pv string) (store.Channel, bool, error)
	Claims(ctx context.Context, shard int) ([]store.Claim, error)
	Journal(ctx context.Context, shard int, w store.WriterID, after store.Position) iter.Seq2[store.JournalRow, error]
	Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error]
	LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (store.Block, bool, error)
}

// Feed is where samples go that somebody sums up: i to j (exclusive) of a run, in order
// of time, each once. They are valid until it returns. It reports whether to go on.
type Feed func(r *sample.Run, i, j int) bool

// Sealed feeds the samples of a PV that stand in blocks, with times in [from, to], and
// before them those of the last time before from, all of them, and perhaps some more.
// Now is the time by which buckets expire, starts what the directory says. All times
// are in ns since 1970.
func Sealed(ctx context.Context, rows Rows, pv string, starts []store.Bucket, from, to, now int64, feed Feed) error {
	p := &plan{store: rows, pv: pv, from: max(from, Earliest), to: min(to, Latest), now: now}
	p.sizes = bySize(starts, p.from, now)
	p.settle()
	return p.feed(ctx, feed)
}

// part returns a plan of a part of the range, by what look has found.
func (p *plan) part(from, to int64) *plan {
	q := &plan{store: p.store, pv: p.pv, from: from, to: to, now: p.now, fresh: slices.Clone(p.fresh)}
	q.sizes = slices.Clone(p.sizes)
	for i := range q.sizes {
		q.sizes[i].since = from
	}
	q.settle()
	return q
}

// feed feeds the samples in the range, after those of the last time before it.
func (p *plan) feed(ctx context.Context, feed Feed) error {
	if err := p.lookBack(ctx); err != nil {
		return err
	}
	if err := p.lookAhead(ctx); err != nil {
		return err
	}
	m := merger{from: p.seen, to: p.to, emit: p.within(feed)}
	if c := p.carried; c != nil && c.Times[0] > p.seen {
		if more, err := p.feedTime(ctx, c, feed); err != nil || !more {
			return err
		}
		m.from = c.Times[0] + 1
	}
	return m.run(p.sources(ctx))
}

// within returns a feed of what is in the range: a merger passes whole stretches.
func (p *plan) within(feed Feed) Feed {
	return func(r *sample.Run, i, j int) bool {
		if r.Times[j-1] > p.to {
			j = i + sort.Search(j-i, func(k int) bool { return r.Times[i+k] > p.to })
		}
		return i == j || feed(r, i, j)
	}
}

// feedTime feeds all samples that have the time of a carried one: a copy tells of one
// of them only. Where they are gone, it feeds the copy.
func (p *plan) feedTime(ctx context.Context, carried *sample.Run, feed Feed) (more bool, err error) {
	more = true
	found := false
	at := carried.Times[0]
	q := p.part(at, at)
	m := merger{from: at, to: at, emit: q.within(func(r *sample.Run, i, j int) bool {
		found, more = true, feed(r, i, j)
		return more
	})}
	if err := m.run(q.sources(ctx)); err != nil || found {
		return more, err
	}
	return feed(carried, 0, 1), nil
}

// WholeSince returns from when on everything is in blocks that ever was and is kept,
// by what the directory says and the time now. Before, buckets have expired, or what
// came was too old to be kept; or what was on another tier, and too old for a shorter
// one, went when the PV came to that, which begins where the directory lists it first.
// It is Earliest if all is kept forever. If the directory lists something before, the value held at that time is
// not known for sure: a late sample is not carried into buckets that had begun.
func WholeSince(starts []store.Bucket, now int64) int64 {
	var begins [store.NumTiers]int64 // by tier, as the directory lists it first
	whole, earliest := int64(Earliest), int64(Latest)
	for r := range begins {
		begins[r] = Latest
	}
	for _, b := range starts {
		if !b.Size().Valid() || !b.Tier().Valid() {
			continue
		}
		begins[b.Tier()] = min(begins[b.Tier()], b.Start())
		earliest = min(earliest, b.Start())
		if b.Tier() != store.Forever {
			whole = max(whole, min(oldest(b.Size(), b.Tier(), now).Start(), b.Span().Last().End()))
		}
	}
	for r := store.Keep1d; r.Valid(); r++ {
		if t := begins[r]; earliest < t && t < Latest {
			whole = max(whole, min(t, now-int64(r.Keep())))
		}
	}
	return whole
}
