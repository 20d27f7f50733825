package backup

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/store"
)

// movesAfter is half of the time after which samples that were copied to another tier are deleted from their former tier.
const movesAfter = 30 * time.Minute

// area is what is copied of a PV: the blocks in the buckets that starts list, and the tiles of levels in their spans.
type area struct {
	pv          string
	tiers       int // that may hold samples of the PV
	starts      []store.Bucket
	levels      []store.Level
	onlyRollups bool
	buckets     []store.Bucket // that may have blocks
	latest      int64          // time of the latest sample in the blocks that were copied
}

// piece is a part of a bucket: the blocks that start from from to to.
type piece struct {
	area     *area
	bucket   store.Bucket
	from, to int64
}

// blocks copies the blocks of PVs, by months of 30 days.
func (c *creator) blocks(ctx context.Context, work []area) error {
	months := map[store.Bucket][]piece{}
	for i := range work {
		if a := &work[i]; !a.onlyRollups {
			if err := c.addPieces(ctx, months, a); err != nil {
				return err
			}
		}
	}
	grown := c.newPacker(Grown)
	for _, month := range slices.Sorted(maps.Keys(months)) {
		p := c.newPacker(Blocks)
		pieces := months[month]
		for len(pieces) > 0 {
			n := 1
			for n < len(pieces) && pieces[n].area == pieces[0].area {
				n++
			}
			if err := c.month(ctx, p, grown, pieces[:n]); err != nil {
				return err
			}
			pieces = pieces[n:]
		}
		if err := p.close(ctx); err != nil {
			return err
		}
	}
	return grown.close(ctx)
}

// addPieces adds the buckets of a PV to their months. A year is divided among months; any shorter bucket is in one.
func (c *creator) addPieces(ctx context.Context, months map[store.Bucket][]piece, a *area) error {
	until := c.begin.Add(ahead).UnixNano()
	var err error
	if a.buckets, err = c.buckets(ctx, a); err != nil {
		return err
	}
	a.latest = math.MinInt64
	for _, b := range a.buckets {
		if b.Size() != store.Year {
			m := store.Month.Of(b.Start())
			months[m] = append(months[m], piece{a, b, math.MinInt64, math.MaxInt64})
			continue
		}
		first, last := store.Month.Of(b.Start()), store.Month.Of(min(b.End()-1, max(until, b.Start())))
		for m := first; m <= last; m = m.Next() {
			p := piece{a, b, m.Start(), m.End() - 1}
			if m == first {
				p.from = math.MinInt64
			}
			if m == last {
				p.to = math.MaxInt64
			}
			months[m] = append(months[m], p)
		}
	}
	return nil
}

// buckets returns the buckets in which the PV may have blocks, sorted by the tier, then by time. A bucket far in the future is read
// only if the directory lists it, or if the store lists buckets.
func (c *creator) buckets(ctx context.Context, a *area) ([]store.Bucket, error) {
	now := c.begin.UnixNano()
	out := slices.Collect(store.InUse(a.starts, now, now+int64(ahead)))
	for _, b := range a.starts {
		if b.Size().Valid() && b.Tier().Valid() && b.Start() > now+int64(ahead) {
			out = slices.AppendSeq(out, store.InUse([]store.Bucket{b}, now, b.Span().Last().Start()))
		}
	}
	if lister, ok := c.store.(bucketLister); ok {
		for b, err := range lister.Buckets(ctx, a.pv) {
			if err != nil {
				return nil, fmt.Errorf("listing the buckets of %s: %w", a.pv, err)
			}
			if at, ever := b.Expires(); b.Size().Valid() && b.Tier().Valid() && (!ever || at > now) {
				out = append(out, b)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// bucketLister is a store that lists buckets without the directory.
type bucketLister interface {
	// Buckets yields the buckets in which a PV has blocks.
	Buckets(ctx context.Context, pv string) iter.Seq2[store.Bucket, error]
}

// month copies the blocks of one PV in a month. If the PV has several tiers and this takes long, samples may have moved from a
// bucket that was read late to one that was read early, so month reads all buckets again.
func (c *creator) month(ctx context.Context, p, grown *packer, pieces []piece) error {
	began := c.opts.Now()
	if err := c.pieces(ctx, p, grown, pieces); err != nil {
		return err
	}
	if pieces[0].area.tiers < 2 || c.opts.Now().Sub(began) < movesAfter {
		return nil
	}
	return c.pieces(ctx, p, grown, pieces)
}

func (c *creator) pieces(ctx context.Context, p, grown *packer, pieces []piece) error {
	for i := range pieces {
		what := "reading blocks of " + pieces[i].area.pv
		if err := again(ctx, what, func() error { return c.piece(ctx, p, grown, &pieces[i]) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *creator) piece(ctx context.Context, p, grown *packer, from *piece) error {
	for b, err := range c.store.Blocks(ctx, from.area.pv, from.bucket, from.from, from.to) {
		if err != nil {
			return err
		}
		if b.Start < from.from || b.Start > from.to {
			continue // it is in another month
		}
		if b.Damage != nil {
			c.damaged("%s: block %d of writer %v from %s: %v", b.PV, b.N, b.Writer, time.Unix(0, b.Start).UTC().Format(time.RFC3339Nano), b.Damage)
			continue
		}
		if err := p.add(ctx, &b); err != nil {
			return err
		}
		if b.Count == 0 && b.End > from.area.latest {
			if err := c.carriedForward(ctx, grown, from.area, b); err != nil {
				return err
			}
		}
		from.area.latest = max(from.area.latest, b.End)
	}
	return nil
}

// tiles is a range of tiles of a PV.
type tiles struct {
	pv          string
	level       store.Level
	first, last store.Tile
}

// rollups copies the tiles of PVs, by the months in which tiles begin.
func (c *creator) rollups(ctx context.Context, work []area) error {
	months := map[store.Bucket][]tiles{}
	for i := range work {
		a := &work[i]
		spans := c.spans(a.starts)
		for _, l := range a.levels {
			if l.Valid() {
				c.addTiles(months, a.pv, l, spans)
			}
		}
	}
	for _, month := range slices.Sorted(maps.Keys(months)) {
		p := c.newPacker(Rollups)
		for _, t := range months[month] {
			if err := again(ctx, "reading rollups of "+t.pv, func() error { return c.tileRange(ctx, p, t) }); err != nil {
				return err
			}
		}
		if err := p.close(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *creator) tileRange(ctx context.Context, p *packer, t tiles) error {
	for r, err := range c.store.Rollups(ctx, t.pv, t.level, t.first, t.last) {
		if err != nil {
			return err
		}
		if err := p.add(ctx, &r); err != nil {
			return err
		}
	}
	return nil
}

// span is a range of time in ns since 1970, both ends included.
type span struct{ from, to int64 }

// spans returns the spans of time in which the starts list buckets. They are sorted and do not overlap.
func (c *creator) spans(starts []store.Bucket) (out []span) {
	until := c.begin.Add(ahead).UnixNano()
	for _, b := range starts {
		if b.Size().Valid() && b.Start() <= until {
			out = append(out, span{b.Start(), min(b.Span().Last().End()-1, until)})
		}
	}
	slices.SortFunc(out, func(a, b span) int {
		if a.from < b.from {
			return -1
		}
		return 1
	})
	merged := out[:0]
	for _, s := range out {
		if n := len(merged); n > 0 && s.from <= merged[n-1].to+1 {
			merged[n-1].to = max(merged[n-1].to, s.to)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// addTiles adds the tiles of a level in the spans to their months.
func (c *creator) addTiles(months map[store.Bucket][]tiles, pv string, l store.Level, spans []span) {
	next := store.Tile(math.MinInt64) // two spans may have a tile in common
	for _, s := range spans {
		if l.Tier() != store.Forever {
			s.from = max(s.from, c.begin.Add(-l.Tier().Keep()).UnixNano()-int64(l.Every())*store.TileBins)
		}
		if s.from > s.to {
			continue
		}
		t, end := max(l.Tile(s.from), next), l.Tile(s.to)
		for t <= end {
			m := store.Month.Of(l.Start(t))
			last := min(end, l.Tile(m.End()-1))
			months[m] = append(months[m], tiles{pv, l, t, last})
			t = last + 1
		}
		next = max(next, end+1)
	}
}
