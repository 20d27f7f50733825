package late

import (
	"context"
	"iter"

	"varve.dev/varve/engine/store"
)

// PutClaim implements store.Store.
func (s *Store) PutClaim(ctx context.Context, c store.Claim) error {
	return s.do(func(st store.Store) error { return st.PutClaim(ctx, c) })
}

// Seal implements store.Store.
func (s *Store) Seal(ctx context.Context, shard int, w store.Writer, to store.Position) error {
	return s.do(func(st store.Store) error { return st.Seal(ctx, shard, w, to) })
}

// Claims implements store.Store.
func (s *Store) Claims(ctx context.Context, shard int) (claims []store.Claim, err error) {
	err = s.do(func(st store.Store) (err error) {
		claims, err = st.Claims(ctx, shard)
		return err
	})
	return claims, err
}

// DropClaim implements store.Store.
func (s *Store) DropClaim(ctx context.Context, shard int, w store.Writer) error {
	return s.do(func(st store.Store) error { return st.DropClaim(ctx, shard, w) })
}

// PutJournal implements store.Store.
func (s *Store) PutJournal(ctx context.Context, r store.JournalRow) error {
	return s.do(func(st store.Store) error { return st.PutJournal(ctx, r) })
}

// Journal implements store.Store.
func (s *Store) Journal(ctx context.Context, shard int, w store.Writer, after store.Position) iter.Seq2[store.JournalRow, error] {
	return sequence(s, func(st store.Store) iter.Seq2[store.JournalRow, error] { return st.Journal(ctx, shard, w, after) })
}

// PutBlocks implements store.Store.
func (s *Store) PutBlocks(ctx context.Context, blocks ...store.Block) error {
	return s.do(func(st store.Store) error { return st.PutBlocks(ctx, blocks...) })
}

// Blocks implements store.Store.
func (s *Store) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	return sequence(s, func(st store.Store) iter.Seq2[store.Block, error] { return st.Blocks(ctx, pv, b, from, to) })
}

// LastBlock implements store.Store.
func (s *Store) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (blk store.Block, found bool, err error) {
	err = s.do(func(st store.Store) (err error) {
		blk, found, err = st.LastBlock(ctx, pv, b, at)
		return err
	})
	return blk, found, err
}

// AddChannel implements store.Store.
func (s *Store) AddChannel(ctx context.Context, c store.Channel) error {
	return s.do(func(st store.Store) error { return st.AddChannel(ctx, c) })
}

// Channel implements store.Store.
func (s *Store) Channel(ctx context.Context, pv string) (c store.Channel, found bool, err error) {
	err = s.do(func(st store.Store) (err error) {
		c, found, err = st.Channel(ctx, pv)
		return err
	})
	return c, found, err
}

// Channels implements store.Store.
func (s *Store) Channels(ctx context.Context) iter.Seq2[store.Channel, error] {
	return sequence(s, func(st store.Store) iter.Seq2[store.Channel, error] { return st.Channels(ctx) })
}

// PutMarks implements store.Store.
func (s *Store) PutMarks(ctx context.Context, marks ...store.PVMark) error {
	return s.do(func(st store.Store) error { return st.PutMarks(ctx, marks...) })
}

// Marks implements store.Store.
func (s *Store) Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error] {
	return sequence(s, func(st store.Store) iter.Seq2[store.PVMark, error] { return st.Marks(ctx, pv, from, to) })
}

// PutMetadata implements store.Store.
func (s *Store) PutMetadata(ctx context.Context, m store.PVMetadata) error {
	return s.do(func(st store.Store) error { return st.PutMetadata(ctx, m) })
}

// MetadataAt implements store.Store.
func (s *Store) MetadataAt(ctx context.Context, pv string, at int64) (m store.PVMetadata, found bool, err error) {
	err = s.do(func(st store.Store) (err error) {
		m, found, err = st.MetadataAt(ctx, pv, at)
		return err
	})
	return m, found, err
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, pv string) error {
	return s.do(func(st store.Store) error { return st.Delete(ctx, pv) })
}

// Size implements store.Store.
func (s *Store) Size(ctx context.Context) (size int64, err error) {
	err = s.do(func(st store.Store) (err error) {
		size, err = st.Size(ctx)
		return err
	})
	return size, err
}
