package query

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"sort"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// BinOptions are the options of a read of bins.
type BinOptions struct {
	// Empty makes the read yield bins without samples too, up to the current time. Such a bin
	// has the value that the PV held.
	Empty bool
	// First makes the read yield the first bin even if it has no samples, provided that the PV
	// held a value.
	First bool
	// Width is the exact width of the bins in ns. If it is 0, the number of points determines the
	// width. The width of stored bins that are used divides it.
	Width int64
	// Lost collects the samples in damaged blocks, which the read leaves out. If it is nil, a
	// damaged block ends the read with an error.
	Lost *Losses
}

// Bins is the result of a read of bins: the samples of a range, summarized by time.
type Bins struct {
	// CompleteUntil is a time in ns since 1970. The bins have all samples that engines received
	// before it. It is Latest if no sample is missing.
	CompleteUntil int64
	// Width is the width of a bin, in ns.
	Width int64
	// Stored is true if the PV has stored rollups from which these bins can be computed.
	// Otherwise the bins are computed from samples.
	Stored bool
	// Outside is true if some bins are computed from samples of the other archive: see Through.
	Outside bool
	// All yields the bins in order of time. A bin begins at a multiple of the width, counted
	// from 1970. The first and the last bin may extend beyond the range. Bins are wider than
	// Width only where samples have expired and no level of rollups is fine enough. If the range
	// begins within such a bin, that bin is the first. A bin is
	// valid until the next one is requested. The sequence ends after its first error. It can
	// be used only once.
	All iter.Seq2[*rollup.Bin, error]
}

// Bins summarizes the samples of a PV in [from, to], in ns since 1970, in bins. There are
// about as many bins as points, or up to twice as many, so that each bin can be the sum of
// stored bins. For a PV that was never captured, Bins returns ErrUnknownPV.
//
// Where the tiles are complete, the bins come from the coarsest level of rollups that is fine
// enough. The other bins are computed from finer levels and from samples. If a bin is the sum
// of other bins, its Mean and Std may differ in the last digits from the values computed from
// samples.
func (r *Reader) Bins(ctx context.Context, pv string, from, to int64, points int, opts BinOptions) (*Bins, error) {
	n := int64(max(points, 1))
	from, to = max(from, Earliest), min(to, Latest)
	width := opts.Width
	if width == 0 {
		width = max(1, (to-from+n-1)/n)
	}
	if list, err := r.parts(ctx, pv); list != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return r.named.bins(ctx, list, from, to, width, opts)
	}
	b, err := r.binning(ctx, pv, width, opts.Width != 0)
	if err != nil {
		return nil, err
	}
	b.first, b.end = rollup.Floor(from, b.width), rollup.Floor(to, b.width)+b.width
	b.join.empty, b.join.lead = opts.Empty, opts.First
	b.p.leaveOut(opts.Lost)
	if err := b.findSeam(ctx, r, opts.Lost, b.collectUnsealed(ctx, r)); err != nil {
		return nil, err
	}
	return &Bins{CompleteUntil: b.p.completeUntil, Width: b.width, Stored: len(b.levels) > 0, Outside: b.seam > b.first, All: b.all(ctx)}, nil
}

// Count is the number of samples in a range.
type Count struct {
	// CompleteUntil is a time in ns since 1970. The samples that engines received before it are
	// counted. It is Latest if no sample is missing.
	CompleteUntil int64
	// Stored is false if no stored bins are fine enough for the range. In this case nothing was
	// counted.
	Stored bool
	N      uint64
}

// Count counts the samples of a PV in [from, to], in ns since 1970, by stored bins. lost is as in
// Options.
func (r *Reader) Count(ctx context.Context, pv string, from, to int64, lost *Losses) (Count, error) {
	from, to = max(from, Earliest), min(to, Latest)
	if list, err := r.parts(ctx, pv); list != nil || err != nil {
		if err != nil {
			return Count{}, err
		}
		return r.named.count(ctx, list, from, to, lost)
	}
	if r.Through != nil {
		return r.countThrough(ctx, pv, from, to, lost)
	}
	return r.countOwn(ctx, pv, from, to, lost)
}

// countOwn is Count without the other archive.
func (r *Reader) countOwn(ctx context.Context, pv string, from, to int64, lost *Losses) (Count, error) {
	b, err := r.binning(ctx, pv, max(1, (to-from)/countBins), false)
	if err != nil || len(b.levels) == 0 {
		return Count{}, err
	}
	b.first, b.end = rollup.Floor(from+b.width-1, b.width), rollup.Floor(to+1, b.width)
	b.p.leaveOut(lost)
	if err := b.collectUnsealed(ctx, r); err != nil {
		return Count{}, err
	}
	c := Count{CompleteUntil: b.p.completeUntil, Stored: true}
	for bin, err := range b.all(ctx) {
		if err != nil || bin.Width != b.width {
			return Count{}, err
		}
		c.N += bin.Count
	}
	for _, edge := range [][2]int64{{from, b.first - 1}, {b.end, to}} {
		if err := c.addEdge(ctx, r, pv, edge[0], edge[1], lost); err != nil {
			return Count{}, err
		}
	}
	return c, nil
}

// addEdge counts the samples in [from, to] one by one.
func (c *Count) addEdge(ctx context.Context, r *Reader, pv string, from, to int64, lost *Losses) error {
	return c.addAll(r.Read(ctx, pv, from, to, Options{Inside: true, Lost: lost}))
}

// addAll counts the samples of a read.
func (c *Count) addAll(s *Samples, err error) error {
	if err != nil {
		return err
	}
	for run, err := range s.All {
		if err != nil {
			return err
		}
		c.N += uint64(run.Len())
	}
	c.CompleteUntil = min(c.CompleteUntil, s.CompleteUntil)
	return nil
}

// countBins is the minimum number of bins that Count adds up. Count counts the samples at the
// ends of the range one by one.
const countBins = 100

// binning returns a new binning for bins of about the requested width, or of exactly that width.
func (r *Reader) binning(ctx context.Context, pv string, width int64, exact bool) (*binning, error) {
	ch, _, err := r.Store.Channel(ctx, pvname.Canonical(pv))
	if err != nil {
		return nil, err
	}
	return r.binningOf(pv, ch.Levels, width, exact), nil
}

// binningOf returns a new binning for a PV with levels.
func (r *Reader) binningOf(pv string, levels []store.Level, width int64, exact bool) *binning {
	b := &binning{tiles: r.Store.Rollups}
	b.p = newPlan(r.Store, pvname.Canonical(pv), r.now())
	b.chooseLevels(levels, width, exact)
	b.join = &joiner{width: b.width, now: b.p.Now}
	return b
}

// collectUnsealed reads everything except bins and blocks.
func (b *binning) collectUnsealed(ctx context.Context, r *Reader) error {
	b.p.From, b.p.To = b.first, b.end-1
	b.p.since = b.first - 1 // a fresh sample before the first bin changes that bin
	return b.p.collectUnsealed(ctx, r.Recent, r.Shards)
}

// all yields the bins.
func (b *binning) all(ctx context.Context) iter.Seq2[*rollup.Bin, error] {
	return func(yield func(*rollup.Bin, error) bool) {
		b.join.done, b.join.yield = b.first, func(bin *rollup.Bin) bool { return yield(bin, nil) }
		if err := b.run(ctx); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped ends a read whose consumer has stopped.
var errStopped = errors.New("the consumer has stopped")

// binning is one read of bins.
//
//	levels, coarse to fine ──▶ ranges that their tiles do not claim ──▶ samples ─┐
//	          └───────────────── bins ───────────────────────────────────────────┴─▶ joiner ──▶ bins of one width
type binning struct {
	p          *plan
	tiles      func(ctx context.Context, pv string, l store.Level, first, last store.Tile) iter.Seq2[store.Rollup, error]
	width      int64
	first, end int64 // start of the first bin, end of the last one
	// levels are the levels from which the bins can be computed, the coarsest first. The width
	// is a multiple of the first level's width, and the width of each level is a multiple of
	// the next level's width.
	levels []store.Level
	// wider are the levels that are too coarse, or whose width does not divide the width of
	// the bins, the finest first.
	wider    []store.Level
	whole    int64 // raw samples are complete from this time on
	earliest int64 // there are no stored samples or bins before this time
	join     *joiner
	// untrusted are ranges in which tiles may have deleted samples. The first stored bin after staleFrom may begin
	// with the value of one.
	untrusted store.Mask
	staleFrom int64
	// seam is the time before which the other archive has samples, too: see Reader.seam. If it is after
	// first, joined reads the samples of both archives.
	seam   int64
	joined func(ctx context.Context, from, to int64) (*Samples, error)
	// older has the bins of the former names of the PV before the seam, or is nil: see history.
	older *binning
	// early are the times of the samples of this name from before the seam. tooEarly means that there are too many.
	early    []int64
	tooEarly bool
}

// chooseLevels chooses the width and the levels, given the levels of the PV and the requested
// width. If exact is true, it keeps the width.
func (b *binning) chooseLevels(levels []store.Level, requested int64, exact bool) {
	levels = slices.DeleteFunc(slices.Clone(levels), func(l store.Level) bool { return !l.Valid() })
	slices.SortFunc(levels, func(x, y store.Level) int { return cmp.Or(cmp.Compare(y.Every(), x.Every()), cmp.Compare(x, y)) })
	b.width = requested
	unit := int64(0)
	for _, l := range levels {
		every := int64(l.Every())
		if unit == 0 && every <= requested && (!exact || requested%every == 0) {
			b.width, unit = requested/every*every, every
		}
		if unit > 0 && unit%every == 0 {
			b.levels, unit = append(b.levels, l), every
		} else {
			b.wider = append([]store.Level{l}, b.wider...)
		}
	}
}

func (b *binning) run(ctx context.Context) error {
	b.findBounds()
	switch {
	case b.older != nil:
		return b.runHistory(ctx)
	case b.seam > b.first:
		return b.runJoined(ctx)
	}
	if err := b.findHeldValue(ctx); err != nil {
		return err
	}
	if err := b.coverRange(ctx, missing{b.first, b.end, b.anyFresh(Earliest, b.first)}); err != nil {
		return err
	}
	return b.join.close(b.end)
}

// findBounds finds out from when on there are samples and bins, and where tiles may have deleted samples.
func (b *binning) findBounds() {
	b.whole, b.earliest = scan.WholeSince(b.p.starts, b.p.Now), Latest
	for _, s := range b.p.starts {
		b.earliest = min(b.earliest, s.Start())
	}
	b.untrust()
}

// findHeldValue finds the value that the PV held at the start of the range. It uses the last
// sample or the last bin before the range, whichever is later, because samples may have
// expired and bins may not be stored yet.
func (b *binning) findHeldValue(ctx context.Context) error {
	at := b.first
	acc := rollup.NewAccumulator(b.unit())
	var bins []rollup.Bin
	part := b.p.Part(at, at)
	err := part.Feed(ctx, func(r *sample.Run, i, j int) bool {
		j = i + sort.Search(j-i, func(k int) bool { return r.Times[i+k] >= at })
		bins = acc.Add(bins, r, i, j)
		return true
	})
	if err != nil {
		return err
	}
	last, found := acc.Last() // the stored bin of this sample may not include it yet
	if !found {
		last = math.MinInt64
	}
	lost := part.LostUntil() // an older sample or bin is not the last one
	if bins = acc.Close(bins, math.MaxInt64); len(bins) > 0 && last >= lost {
		b.join.hold(&bins[len(bins)-1])
	}
	if b.earliest >= at {
		return nil
	}
	for _, l := range slices.Concat(b.levels, b.wider) {
		for row, err := range b.tiles(ctx, b.p.PV, l, l.Tile(at-1)-1, l.Tile(at-1)) {
			if err != nil {
				return err
			}
			var t rollup.Tile
			if rollup.Decode(&t, &row) != nil {
				continue // a tile that does not decode counts as missing
			}
			n := sort.Search(len(t.Bins), func(i int) bool { return t.Bins[i].End() > at })
			for n > 0 && b.mayHaveDeleted(&t.Bins[n-1]) {
				n--
			}
			if n > 0 && t.Bins[n-1].Start > last && t.Bins[n-1].End() > lost {
				b.join.hold(&t.Bins[n-1])
				last = t.Bins[n-1].Start
			}
		}
	}
	return nil
}

// unit returns the width of the bins that are computed from samples.
func (b *binning) unit() int64 {
	if n := len(b.levels); n > 0 {
		return int64(b.levels[n-1].Every())
	}
	return b.width
}

// missing is a range [lo, hi) of bins that are still missing.
type missing struct {
	lo, hi int64
	// stale is true if the last samples before lo are fresh, so that tiles do not include
	// them.
	stale bool
}

// samples computes bins from samples. Where samples have expired, it uses wider levels.
func (b *binning) samples(ctx context.Context, s missing) (err error) {
	if s.lo < b.whole && b.earliest < s.hi && len(b.wider) > 0 {
		if s.lo, err = b.fill(ctx, 0, s.lo, min(s.hi, b.whole)); err != nil {
			return err
		}
	}
	return b.compute(ctx, s.lo, s.hi)
}

// compute computes the bins in [lo, hi).
func (b *binning) compute(ctx context.Context, lo, hi int64) (err error) {
	if lo >= hi {
		return nil
	}
	width := b.unit()
	if lo%b.width == 0 && hi%b.width == 0 {
		width = b.width
	}
	acc := rollup.NewAccumulator(width)
	if b.join.known {
		acc.Hold(&b.join.last)
	}
	var bins []rollup.Bin
	failed := b.p.Part(lo, hi-1).Feed(ctx, func(r *sample.Run, i, j int) bool {
		i += sort.Search(j-i, func(k int) bool { return r.Times[i+k] >= lo })
		bins = acc.Add(bins[:0], r, i, j)
		err = b.join.addAll(bins)
		return err == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return b.join.addAll(acc.Close(bins[:0], math.MaxInt64))
}
