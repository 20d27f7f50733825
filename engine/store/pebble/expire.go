package pebble

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/store"
)

// expireBatch is the size of a batch of deletions in bytes.
const expireBatch = 256 << 10

// Tiers implements store.Store. The store has all tiers.
func (s *Store) Tiers(context.Context) ([]store.Tier, error) {
	tiers := make([]store.Tier, store.NumTiers)
	for i := range tiers {
		tiers[i] = store.Tier(i)
	}
	return tiers, nil
}

// Expire implements store.Store. It seeks the first row of each span of buckets and of each
// level in the directory. If none of these rows has expired, it does nothing else.
//
// It deletes each expired bucket separately, by the bucket's own range of keys. The keys of
// buckets of several sizes are interleaved, so a range of several buckets could include a
// bucket that has not expired and is just being written.
func (s *Store) Expire(ctx context.Context, now int64) error {
	e := expiry{Store: s, ctx: ctx, now: now, batch: s.db.NewBatch()}
	defer func() { _ = e.batch.Close() }() // uncommitted deletions are dropped
	for c, err := range s.Channels(ctx) {
		if err == nil {
			err = e.channel(&c)
		}
		if err != nil {
			return fmt.Errorf("deleting expired rows: %w", err)
		}
	}
	return e.flush(0)
}

// expiry is one run of Expire.
type expiry struct {
	*Store
	ctx   context.Context
	now   int64
	batch *pebble.Batch // deletions not committed yet
}

// flush commits the batch if it has more than the given number of bytes.
func (e *expiry) flush(more int) error {
	if e.batch.Empty() || e.batch.Len() <= more {
		return nil
	}
	err := e.commit(e.ctx, "deletion", func(b *pebble.Batch) error { return b.Apply(e.batch, nil) })
	e.batch.Reset()
	return err
}

func (e *expiry) channel(c *store.Channel) error {
	for _, first := range c.Starts {
		if err := e.buckets(c.PV, first); err != nil {
			return err
		}
	}
	for _, l := range c.Levels {
		if err := e.tiles(c.PV, l); err != nil {
			return err
		}
	}
	return e.flush(expireBatch)
}

// buckets deletes the expired buckets from first to the end of its span.
func (e *expiry) buckets(pv string, first store.Bucket) error {
	tier := first.Tier()
	if tier == store.Forever || !tier.Valid() {
		return nil
	}
	ended := first.Size().Of(e.now - int64(tier.Keep())).In(tier).Prev() // the last expired bucket
	last := min(ended, first.Span().Last())
	if last < first {
		return nil
	}
	it, err := e.db.NewIterWithContext(e.ctx, &pebble.IterOptions{
		LowerBound: bucketKey(tableHeader, pv, first), UpperBound: after(bucketKey(tableHeader, pv, last)),
	})
	if err != nil {
		return err
	}
	defer it.Close()
	prefix := len(pvKey(tableHeader, pv))
	for ok := it.First(); ok; {
		if len(it.Key()) != prefix+8+blockTail {
			return fmt.Errorf("reading blocks of %s: %w", pv, errCorrupt)
		}
		b := store.Bucket(int64At(it.Key()[prefix:]))
		if at, _ := b.Expires(); at <= e.now {
			if err := dropBucket(e.batch, pv, b); err != nil {
				return err
			}
		}
		ok = it.SeekGE(after(bucketKey(tableHeader, pv, b)))
	}
	return it.Error()
}

// tiles deletes the expired tiles of a level.
func (e *expiry) tiles(pv string, l store.Level) error {
	if l.Tier() == store.Forever || !l.Valid() {
		return nil
	}
	lower, upper := rollupKey(pv, l, math.MinInt64), rollupKey(pv, l, l.Tile(e.now-int64(l.Tier().Keep())))
	it, err := e.db.NewIterWithContext(e.ctx, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer it.Close()
	if !it.First() {
		return it.Error()
	}
	return e.batch.DeleteRange(bytes.Clone(it.Key()), upper, nil)
}
