package visible

import (
	"context"
	"iter"

	"varve.dev/varve/engine/serve/access"
	"varve.dev/varve/engine/store"
)

// hidingStore is a store without the PVs that a request may not read. Rows of journals have the
// samples of many PVs; a reader reads them only for a PV that the directory, memory or a mark knows.
type hidingStore struct{ store.Store }

// Channel implements store.Directory.
func (s *hidingStore) Channel(ctx context.Context, pv string) (store.Channel, bool, error) {
	name, hidden := nameFor(ctx, pv)
	c, found, err := s.Store.Channel(ctx, name)
	return c, found, hide(err, hidden)
}

// Channels implements store.Directory.
func (s *hidingStore) Channels(ctx context.Context) iter.Seq2[store.Channel, error] {
	q := access.From(ctx)
	if q.SeesAll() {
		return s.Store.Channels(ctx)
	}
	return func(yield func(store.Channel, error) bool) {
		for c, err := range s.Store.Channels(ctx) {
			if err == nil && !q.Sees(c.PV) {
				continue
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// Blocks implements store.Blocks.
func (s *hidingStore) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	name, hidden := nameFor(ctx, pv)
	return hideAll(s.Store.Blocks(ctx, name, b, from, to), hidden)
}

// LastBlock implements store.Blocks.
func (s *hidingStore) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (store.Block, bool, error) {
	name, hidden := nameFor(ctx, pv)
	blk, found, err := s.Store.LastBlock(ctx, name, b, at)
	return blk, found, hide(err, hidden)
}

// Rollups implements store.Rollups.
func (s *hidingStore) Rollups(ctx context.Context, pv string, l store.Level, first, last store.Tile) iter.Seq2[store.Rollup, error] {
	name, hidden := nameFor(ctx, pv)
	return hideAll(s.Store.Rollups(ctx, name, l, first, last), hidden)
}

// Marks implements store.Marks.
func (s *hidingStore) Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error] {
	name, hidden := nameFor(ctx, pv)
	return hideAll(s.Store.Marks(ctx, name, from, to), hidden)
}

// LatestMarks implements store.Marks.
func (s *hidingStore) LatestMarks(ctx context.Context, pv string, at int64) iter.Seq2[store.PVMark, error] {
	name, hidden := nameFor(ctx, pv)
	return hideAll(s.Store.LatestMarks(ctx, name, at), hidden)
}

// MetadataAt implements store.Marks.
func (s *hidingStore) MetadataAt(ctx context.Context, pv string, at int64) (store.PVMetadata, bool, error) {
	name, hidden := nameFor(ctx, pv)
	m, found, err := s.Store.MetadataAt(ctx, name, at)
	return m, found, hide(err, hidden)
}

// Metadata implements store.Marks.
func (s *hidingStore) Metadata(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMetadata, error] {
	name, hidden := nameFor(ctx, pv)
	return hideAll(s.Store.Metadata(ctx, name, from, to), hidden)
}

// Delete implements store.Store.
func (s *hidingStore) Delete(ctx context.Context, pv string) error {
	name, hidden := nameFor(ctx, pv)
	return hide(s.Store.Delete(ctx, name), hidden)
}

// DropBucket implements store.Blocks.
func (s *hidingStore) DropBucket(ctx context.Context, pv string, b store.Bucket, before int64) (int64, error) {
	name, hidden := nameFor(ctx, pv)
	n, err := s.Store.DropBucket(ctx, name, b, before)
	return n, hide(err, hidden)
}

// Describe implements store.Describer. A description names no PV.
func (s *hidingStore) Describe(ctx context.Context) (store.Description, error) {
	return store.Describe(ctx, s.Store)
}

// DescribePV implements store.Describer.
func (s *hidingStore) DescribePV(ctx context.Context, pv string, now int64) (store.PVDescription, error) {
	name, hidden := nameFor(ctx, pv)
	d, err := store.DescribePV(ctx, s.Store, name, now)
	return d, hide(err, hidden)
}
