package seal

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// copying places what a bucket holds on the tier of a walk.
type copying struct {
	*Shard
	w       *walk
	put     func(ctx context.Context, w *walk, placed []store.Block) error
	to      destination
	held    []store.Block // of the bucket, not placed yet
	bytes   int           // of it, so far
	sized   bool          // it has so many that they are placed as they come
	corrupt bool          // a block could not be read
	cost    int
}

func (s *Shard) copying(w *walk, put func(context.Context, *walk, []store.Block) error) *copying {
	return &copying{Shard: s, w: w, put: put, to: destination{tier: w.tier, now: time.Now().UnixNano(), cutoff: s.cutoff()}}
}

// bucket places the blocks of a bucket. It reports whether there is any.
func (c *copying) bucket(ctx context.Context, b store.Bucket) (found bool, err error) {
	c.cost += askCost
	for blk, err := range c.cfg.Store.Blocks(ctx, c.w.pv, b, math.MinInt64, math.MaxInt64) {
		if err != nil {
			return found, err
		}
		found = true
		c.held, c.bytes = append(c.held, blk), c.bytes+len(blk.Blob)
		if c.sized = c.sized || c.bytes > target; c.sized {
			c.to.size = sizeFor(b, c.bytes, false, c.w.tier)
			if err := c.flush(ctx); err != nil {
				return found, err
			}
		}
	}
	if !c.sized {
		c.to.size = sizeFor(b, c.bytes, true, c.w.tier)
	}
	return found, c.flush(ctx)
}

// flush places the blocks that are held.
func (c *copying) flush(ctx context.Context) error {
	var out []store.Block
	for i := range c.held {
		placed, err := c.place(ctx, &c.held[i])
		if err != nil {
			return err
		}
		out = append(out, placed...)
	}
	clear(c.held)
	c.held = c.held[:0]
	for chunk := range chunks(out, moveBytes) {
		c.cost += writeCost
		for i := range chunk {
			c.cost += len(chunk[i].Blob)
		}
		if err := c.put(ctx, c.w, chunk); err != nil {
			return err
		}
	}
	return nil
}

// place returns the copies of a block. One that can not be read has none: it stays
// where it is.
func (c *copying) place(ctx context.Context, b *store.Block) ([]store.Block, error) {
	if b.Count > 0 {
		c.w.latest = max(c.w.latest, b.End)
		out, err := c.to.place(b)
		if err != nil {
			c.corrupt = true
			c.cfg.Metrics.Corrupt.Inc()
			c.cfg.Log.Error("a block can not be read, and stays on its tier", "pv", b.PV, "bucket", int64(b.Bucket),
				"writer", b.Writer.String(), "n", b.N, "err", err)
		}
		return out, nil
	}
	r := new(sample.Run)
	if err := block.Decode(r, b.Blob); err != nil || r.Len() != 1 {
		return nil, nil // it is a copy of what stands elsewhere
	}
	only := r.Times[0] > c.w.latest
	if only && r.Tags[0]&sample.Elsewhere != 0 {
		whole, err := c.cfg.last(ctx, b.PV, r.Times[0])
		if err != nil {
			return nil, err
		}
		if whole != nil && whole.Times[0] == r.Times[0] {
			r = whole
			r.Tags[0] |= sample.CarriedForward
		}
	}
	c.w.latest = max(c.w.latest, r.Times[0])
	return c.to.placeCarriedForward(b, r, only), nil
}

// putMoved writes copies, whose buckets stand in the directory before.
func (s *Shard) putMoved(ctx context.Context, w *walk, placed []store.Block) error {
	if add, ok := w.missing(s.shardJournal.Shard, placed); ok {
		if err := s.cfg.Store.AddChannel(ctx, add); err != nil {
			return err
		}
		w.added(add)
	}
	if err := s.cfg.Store.PutBlocks(ctx, placed...); err != nil {
		return err
	}
	s.moves.moved += len(placed)
	s.cfg.Metrics.moved(placed)
	return nil
}

// chunks cuts blocks into pieces of about so many bytes.
func chunks(blocks []store.Block, bytes int) iter.Seq[[]store.Block] {
	return func(yield func([]store.Block) bool) {
		from, size := 0, 0
		for i := range blocks {
			if size += len(blocks[i].Blob); size >= bytes || i == len(blocks)-1 {
				if !yield(blocks[from : i+1]) {
					return
				}
				from, size = i+1, 0
			}
		}
	}
}

// dropMoved drops a bucket whose copies are old enough, if they are still there: for
// another sealer that is told otherwise may have moved them on. Its blocks may have
// grown since, too, or have become more. Then all is copied again, and waits again.
//
// Only what was written before the copy is deleted, which is an hour ago: whatever
// another sealer puts there between the look and the deletion stays, also if its clock
// is behind.
func (s *Shard) dropMoved(ctx context.Context) (cost int, err error) {
	m := &s.moves
	w := m.copied[0]
	if !s.due(w) {
		m.copied = m.copied[1:]
		return 0, nil
	}
	b := w.done[0]
	safe, err := s.mayDrop(ctx, b)
	if err != nil {
		return askCost, err
	}
	if !safe {
		w.at = time.Now()
		m.copied = append(m.copied[1:], w)
		return askCost, nil
	}
	there, c, err := s.stands(ctx, w, b)
	switch {
	case err != nil:
		return c.cost, fmt.Errorf("comparing %s with its copy: %w", w.pv, err)
	case !there:
		m.copied = m.copied[1:]
		m.queue = append(m.queue, w.pv)
		return c.cost, nil
	case !c.corrupt:
		if _, err := s.cfg.Store.DropBucket(ctx, w.pv, b, w.at.UnixNano()); err != nil {
			return c.cost, fmt.Errorf("deleting what was moved of %s: %w", w.pv, err)
		}
		s.cfg.Metrics.Left.Inc()
		m.left++
	}
	if w.done = w.done[1:]; len(w.done) == 0 {
		m.copied = m.copied[1:]
	}
	return c.cost, nil
}

// mayDrop reports whether nobody else can be writing to a bucket. Other engines that
// hold the shard may not have heard of its tier yet: as long as there are any, the
// bucket must have ended some time ago, and one engine drops: the one that has the role.
func (s *Shard) mayDrop(ctx context.Context, b store.Bucket) (bool, error) {
	claims, err := s.cfg.Store.Claims(ctx, s.shardJournal.Shard)
	if err != nil {
		return false, err
	}
	if err := s.checkRank(claims); err != nil {
		return false, err
	}
	others := slices.ContainsFunc(claims, func(c store.Claim) bool {
		return c.Writer != s.shardJournal.Writer() && !c.Closed && !s.cfg.Ours(c.Writer)
	})
	ended := b.End() <= time.Now().Add(-s.cfg.dropAfter()).UnixNano()
	return !others || ended, nil
}

// stands reports whether the copies of all blocks in a bucket stand on the tier of a
// walk, and have what those have.
func (s *Shard) stands(ctx context.Context, w *walk, b store.Bucket) (bool, *copying, error) {
	want := map[store.BlockKey]store.Block{}
	c := s.copying(w, func(_ context.Context, _ *walk, placed []store.Block) error {
		for _, p := range placed {
			if p.Count > 0 {
				p.Blob = nil
				want[p.BlockKey] = p
			}
		}
		return nil
	})
	if _, err := c.bucket(ctx, b); err != nil {
		return false, c, err
	}
	type extent struct{ from, to int64 }
	in := map[store.Bucket]extent{}
	for key, p := range want {
		e, ok := in[key.Bucket]
		if !ok {
			e = extent{p.Start, p.End}
		}
		in[key.Bucket] = extent{min(e.from, p.Start), max(e.to, p.End)}
	}
	for to, e := range in {
		c.cost += askCost
		for blk, err := range s.cfg.Store.Blocks(ctx, w.pv, to, e.from, e.to) {
			if err != nil {
				return false, c, err
			}
			c.cost += len(blk.Blob)
			if p, ok := want[blk.BlockKey]; ok && blk.End >= p.End && blk.Count >= p.Count {
				delete(want, blk.BlockKey)
			}
		}
	}
	return len(want) == 0, c, nil
}
