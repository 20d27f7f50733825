package scan

import (
	"context"
	"sort"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Feed receives samples i to j (exclusive) of a run. It gets the samples in order of time, and
// each sample once. The samples are valid until Feed returns. Feed reports whether it wants
// more.
type Feed func(r *sample.Run, i, j int) bool

// Feed feeds the samples in the range. Before them it feeds all samples of the last time before
// the range, and perhaps some more.
func (sc *Scan) Feed(ctx context.Context, feed Feed) error {
	if err := sc.lookBack(ctx); err != nil {
		return err
	}
	if err := sc.lookAhead(ctx); err != nil {
		return err
	}
	m := merger{from: sc.seen, to: sc.To, emit: sc.within(feed), leaveOut: sc.leaveOut}
	if c := sc.carriedForward; c != nil && c.Times[0] > sc.seen {
		if more, err := sc.feedTime(ctx, c, feed); err != nil || !more {
			return err
		}
		m.from = c.Times[0] + 1
	}
	m.lastBlock, sc.lastBlock = sc.lastBlock, decoded{}
	return m.run(sc.sources(ctx))
}

// within returns a feed that drops samples after the range, because a merger emits whole
// segments.
func (sc *Scan) within(feed Feed) Feed {
	return func(r *sample.Run, i, j int) bool {
		if r.Times[j-1] > sc.To {
			j = i + sort.Search(j-i, func(k int) bool { return r.Times[i+k] > sc.To })
		}
		return i == j || feed(r, i, j)
	}
}

// feedTime feeds all samples with the time of a carried-forward sample, because the copy
// represents only one of them. If they are deleted, it feeds the copy.
func (sc *Scan) feedTime(ctx context.Context, carriedForward *sample.Run, feed Feed) (more bool, err error) {
	more = true
	found := false
	at := carriedForward.Times[0]
	q := sc.Part(at, at)
	m := merger{from: at, to: at, leaveOut: sc.leaveOut, emit: q.within(func(r *sample.Run, i, j int) bool {
		found, more = true, feed(r, i, j)
		return more
	})}
	if err := m.run(q.sources(ctx)); err != nil || found {
		return more, err
	}
	return feed(carriedForward, 0, 1), nil
}

// WholeSince returns the time, in ns since 1970, from which on the sealed samples of a PV are
// complete. It is computed from the buckets in the directory and the time now. Before that
// time, buckets have expired, or samples arrived too late to be kept, or samples were deleted
// when the PV moved to a tier that keeps them for a shorter time. A tier begins with its first
// bucket in the directory. WholeSince returns Earliest if all samples are kept forever. If the
// directory lists buckets before the returned time, the value that is valid at that time is
// uncertain, because a sample that arrives after its bucket has expired is not carried forward
// into existing buckets.
func WholeSince(starts []store.Bucket, now int64) int64 {
	var begins [store.NumTiers]int64 // start of the first bucket of each tier in the directory
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
