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

// Expire implements store.Store. For each span of buckets and each level that the directory
// lists, it looks up the first row. If none of these rows has expired, it does nothing else.
//
// It deletes each expired bucket separately, by the bucket's own range of keys. The keys of
// buckets of several sizes are interleaved, so a range of several buckets could include a
// bucket that has not expired and is just being written.
func (s *Store) Expire(ctx context.Context, now int64) error {
	e := expiry{Store: s, ctx: ctx, now: now, batch: s.db.NewBatch()}
	defer func() { _ = e.batch.Close() }() // uncommitted deletions are dropped
	for c, err := range s.Channels(ctx) {
		if err == nil {
			err = e.deleteExpired(&c)
		}
		if err != nil {
			return fmt.Errorf("deleting expired rows: %w", err)
		}
	}
	return e.flush(0)
}

// expiry is the state of one call of Expire.
type expiry struct {
	*Store
	ctx   context.Context
	now   int64
	batch *pebble.Batch // deletions not committed yet
}

// flush commits the batch if it has more than limit bytes.
func (e *expiry) flush(limit int) error {
	if e.batch.Empty() || e.batch.Len() <= limit {
		return nil
	}
	err := e.commit(e.ctx, "deletion", func(b *pebble.Batch) error { return b.Apply(e.batch, nil) })
	e.batch.Reset()
	return err
}

// deleteExpired deletes the expired rows of a PV.
func (e *expiry) deleteExpired(c *store.Channel) error {
	for _, first := range c.Starts {
		if err := e.deleteBuckets(c.PV, first); err != nil {
			return err
		}
	}
	for _, l := range c.Levels {
		if err := e.deleteTiles(c.PV, l); err != nil {
			return err
		}
	}
	return e.flush(expireBatch)
}

// deleteBuckets deletes the expired buckets from first to the end of its span.
func (e *expiry) deleteBuckets(pv string, first store.Bucket) error {
	tier := first.Tier()
	if tier == store.Forever || !tier.Valid() {
		return nil
	}
	expired := first.Size().Of(e.now - int64(tier.Keep())).In(tier).Prev() // the last expired bucket
	last := min(expired, first.Span().Last())
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

// deleteTiles deletes the expired tiles of a level.
func (e *expiry) deleteTiles(pv string, l store.Level) error {
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
