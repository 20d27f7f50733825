package relocation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// copier copies the blocks of a bucket to the tier of a migration.
type copier struct {
	*Shard
	m       *migration
	put     func(ctx context.Context, m *migration, copies []store.Block) error
	to      destination
	held    []store.Block // of the bucket, not copied yet
	bytes   int           // of the bucket, so far
	sized   bool          // the bucket is so large that its blocks are copied as they are read
	corrupt bool          // a block could not be read
	cost    int
}

func (s *Shard) newCopier(m *migration, put func(context.Context, *migration, []store.Block) error) *copier {
	return &copier{Shard: s, m: m, put: put, to: destination{tier: m.tier, now: s.cfg.Clock.Earliest(), cutoff: s.Cutoff()}}
}

// copyBucket copies the blocks of a bucket. It reports whether there are any.
func (c *copier) copyBucket(ctx context.Context, b store.Bucket) (found bool, err error) {
	c.cost += readCost
	for blk, err := range c.cfg.Store.Blocks(ctx, c.m.pv, b, math.MinInt64, math.MaxInt64) {
		if err != nil {
			return found, err
		}
		found = true
		c.held, c.bytes = append(c.held, blk), c.bytes+len(blk.Blob)
		if c.sized = c.sized || c.bytes > layout.TargetBytes; c.sized {
			c.to.size = sizeFor(b, c.bytes, false, c.m.tier)
			if err := c.flush(ctx); err != nil {
				return found, err
			}
		}
	}
	if !c.sized {
		c.to.size = sizeFor(b, c.bytes, true, c.m.tier)
	}
	return found, c.flush(ctx)
}

// flush copies the held blocks.
func (c *copier) flush(ctx context.Context) error {
	var out []store.Block
	for i := range c.held {
		copies, err := c.copyBlock(ctx, &c.held[i])
		if err != nil {
			return err
		}
		out = append(out, copies...)
	}
	clear(c.held)
	c.held = c.held[:0]
	for chunk := range chunks(out, stepBytes) {
		c.cost += writeCost
		for i := range chunk {
			c.cost += len(chunk[i].Blob)
		}
		if err := c.put(ctx, c.m, chunk); err != nil {
			return err
		}
	}
	return nil
}

// copyBlock returns the copies of a block. A block that cannot be read has no copies and stays
// on its tier.
func (c *copier) copyBlock(ctx context.Context, b *store.Block) ([]store.Block, error) {
	if b.Count > 0 {
		c.m.latest = max(c.m.latest, b.End)
		out, err := c.to.place(b)
		if d := (*scan.Damaged)(nil); errors.As(err, &d) {
			c.corrupt = true
			c.cfg.Damaged(d)
		}
		return out, nil
	}
	r := new(sample.Run)
	if err := scan.Decode(r, b); err != nil || r.Len() != 1 {
		return nil, nil // it is a copy of a sample that is stored elsewhere
	}
	only := r.Times[0] > c.m.latest
	if only && r.Tags[0]&sample.Elsewhere != 0 {
		whole, err := c.cfg.Last(ctx, b.PV, r.Times[0])
		if d := (*scan.Damaged)(nil); errors.As(err, &d) {
			c.corrupt = true
			c.cfg.Damaged(d)
		} else if err != nil {
			return nil, err
		}
		if whole != nil && whole.Times[0] == r.Times[0] {
			r = whole
			r.Tags[0] |= sample.CarriedForward
		}
	}
	c.m.latest = max(c.m.latest, r.Times[0])
	return c.to.placeCarriedForward(b, r, only), nil
}

// putCopies writes copies after it has added their buckets to the directory.
func (s *Shard) putCopies(ctx context.Context, m *migration, copies []store.Block) error {
	if add, ok := m.entry.Missing(m.pv, s.cfg.Shard, copies); ok {
		if err := s.cfg.Store.AddChannel(ctx, add); err != nil {
			return err
		}
		m.entry.Add(add)
	}
	if err := s.cfg.Store.PutBlocks(ctx, copies...); err != nil {
		return err
	}
	s.moved += len(copies)
	s.cfg.Metrics.moved(copies)
	return nil
}

// chunks splits blocks into chunks of about the given number of bytes.
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

// dropCopied drops a bucket an hour after its blocks were copied, if the copies still exist.
// The copies may be gone, because another sealer that knows another tier has migrated them
// further. If copies are missing, or if blocks of the bucket have grown or are new, all blocks
// are copied again and the bucket waits again.
//
// dropCopied deletes only blocks that were written before the copy, an hour ago. Blocks that
// another sealer writes between the comparison and the deletion therefore stay, even if that
// sealer's clock is behind.
func (s *Shard) dropCopied(ctx context.Context) (cost int, err error) {
	m := s.copied[0]
	if !s.isWanted(m) {
		s.copied = s.copied[1:]
		return 0, nil
	}
	b := m.done[0]
	safe, err := s.mayDrop(ctx, b)
	if err != nil {
		return readCost, err
	}
	if !safe {
		m.at = time.Now()
		s.copied = append(s.copied[1:], m)
		return readCost, nil
	}
	complete, c, err := s.isCopied(ctx, m, b)
	switch {
	case err != nil:
		return c.cost, fmt.Errorf("comparing %s with its copy: %w", m.pv, err)
	case !complete:
		s.copied = s.copied[1:]
		s.queue = append(s.queue, m.pv)
		return c.cost, nil
	case !c.corrupt:
		if _, err := s.cfg.Store.DropBucket(ctx, m.pv, b, s.cfg.Clock.StoreTime()-int64(time.Since(m.at))); err != nil {
			return c.cost, fmt.Errorf("deleting migrated blocks of %s: %w", m.pv, err)
		}
		s.cfg.Metrics.Left.Inc()
		s.dropped++
	}
	if m.done = m.done[1:]; len(m.done) == 0 {
		s.copied = s.copied[1:]
	}
	return c.cost, nil
}

// mayDrop reports whether no other engine can be writing to a bucket. Other engines that hold
// the shard may not know the PV's new tier yet. While there are such engines, the bucket must
// have ended some time ago. mayDrop returns an error if another engine is the leader, because
// only the leader drops buckets.
func (s *Shard) mayDrop(ctx context.Context, b store.Bucket) (bool, error) {
	claims, err := s.cfg.Store.Claims(ctx, s.cfg.Shard)
	if err != nil {
		return false, err
	}
	if err := s.cfg.CheckLeader(claims); err != nil {
		return false, err
	}
	others := slices.ContainsFunc(claims, func(c store.Claim) bool {
		return c.Writer != s.cfg.Writer && !c.Closed && !s.cfg.Ours(c.Writer)
	})
	ended := b.End() <= s.cfg.Clock.Earliest()-int64(s.cfg.DropAfter)
	return !others || ended, nil
}

// isCopied reports whether the tier of a migration has copies of all blocks of a bucket, with at
// least as many samples.
func (s *Shard) isCopied(ctx context.Context, m *migration, b store.Bucket) (bool, *copier, error) {
	want := map[store.BlockKey]store.Block{}
	c := s.newCopier(m, func(_ context.Context, _ *migration, copies []store.Block) error {
		for _, p := range copies {
			if p.Count > 0 {
				p.Blob = nil
				want[p.BlockKey] = p
			}
		}
		return nil
	})
	if _, err := c.copyBucket(ctx, b); err != nil {
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
		c.cost += readCost
		for blk, err := range s.cfg.Store.Blocks(ctx, m.pv, to, e.from, e.to) {
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
