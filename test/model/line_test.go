package model

import (
	"context"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"varve.dev/varve/engine/store"
)

// line is the connection of an engine or a reader to the store. It may break at any write,
// before or after the store has executed the write. It breaks for some time, or, when the
// engine crashes, for good.
type line struct {
	store.Store // nil; it provides the methods that the test does not use
	out         *outside

	mu         sync.Mutex
	rng        *rand.Rand
	writesLeft int    // number of writes until the line breaks; 0: it does not break
	onBreak    func() // called when it breaks
	dead       bool
	away       bool
	last       []store.JournalRow // the rows sent last
}

// arm makes the line break at the n-th write from now on. If n is 0, it does not break.
func (l *line) arm(n int, onBreak func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writesLeft, l.onBreak = n, onBreak
}

// set sets the state of the line. A dead line stays dead.
func (l *line) set(dead, away bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead, l.away = l.dead || dead, away
}

func (l *line) isAway() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.away
}

// up returns an error if the store cannot be reached.
func (l *line) up(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.dead:
		return errDead
	case l.away:
		return errAway
	}
	return ctx.Err()
}

// countWrite counts a write. If the line breaks at this write, countWrite returns the function
// onBreak, which the caller must call. done reports whether the store executes the write.
func (l *line) countWrite() (onBreak func(), done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writesLeft == 0 {
		return nil, true
	}
	if l.writesLeft--; l.writesLeft > 0 {
		return nil, true
	}
	return l.onBreak, l.rng.IntN(2) == 0
}

// write makes a call that changes the store, unless the line breaks before it.
func (l *line) write(ctx context.Context, f func(context.Context, store.Store) error) error {
	if err := l.up(ctx); err != nil {
		return err
	}
	onBreak, done := l.countWrite()
	var err error
	if done {
		err = l.out.call(f)
	}
	if onBreak != nil {
		onBreak()
		return l.up(ctx)
	}
	return err
}

func (l *line) PutClaim(ctx context.Context, c store.Claim) error {
	return l.write(ctx, func(ctx context.Context, st store.Store) error { return st.PutClaim(ctx, c) })
}

func (l *line) Seal(ctx context.Context, shard int, w store.WriterID, to store.Position) error {
	return l.write(ctx, func(ctx context.Context, st store.Store) error { return st.Seal(ctx, shard, w, to) })
}

func (l *line) DropClaim(ctx context.Context, c store.Claim) error {
	return l.write(ctx, func(ctx context.Context, st store.Store) error { return st.DropClaim(ctx, c) })
}

func (l *line) PutJournal(ctx context.Context, r store.JournalRow) error {
	l.mu.Lock()
	if l.last = append(l.last, r); len(l.last) > 8 {
		l.last = l.last[1:]
	}
	l.mu.Unlock()
	return l.write(ctx, func(ctx context.Context, st store.Store) error { return st.PutJournal(ctx, r) })
}

// PutBlocks writes the blocks. If the line breaks at this write, the store may get only some
// of them.
func (l *line) PutBlocks(ctx context.Context, blocks ...store.Block) error {
	if err := l.up(ctx); err != nil {
		return err
	}
	onBreak, done := l.countWrite()
	if !done {
		l.mu.Lock()
		some := make([]store.Block, 0, len(blocks))
		for i := range blocks {
			if l.rng.IntN(2) == 0 {
				some = append(some, blocks[i])
			}
		}
		l.mu.Unlock()
		blocks = some
	}
	err := l.out.call(func(ctx context.Context, st store.Store) error { return st.PutBlocks(ctx, blocks...) })
	if onBreak != nil {
		onBreak()
		return l.up(ctx)
	}
	return err
}

func (l *line) PutRollups(ctx context.Context, rows ...store.Rollup) error {
	return l.write(ctx, func(ctx context.Context, st store.Store) error { return st.PutRollups(ctx, rows...) })
}

func (l *line) DropBucket(ctx context.Context, pv string, b store.Bucket, before int64) (bytes int64, err error) {
	err = l.write(ctx, func(ctx context.Context, st store.Store) (err error) {
		bytes, err = st.DropBucket(ctx, pv, b, before)
		return err
	})
	return bytes, err
}

func (l *line) AddChannel(ctx context.Context, c store.Channel) error {
	return l.write(ctx, func(ctx context.Context, st store.Store) error { return st.AddChannel(ctx, c) })
}

func (l *line) Delete(ctx context.Context, pv string) error {
	return l.write(ctx, func(ctx context.Context, st store.Store) error { return st.Delete(ctx, pv) })
}

func (l *line) Expire(ctx context.Context, now int64) error {
	return l.write(ctx, func(ctx context.Context, st store.Store) error { return st.Expire(ctx, now) })
}

func (l *line) Claims(ctx context.Context, shard int) ([]store.Claim, error) {
	return fetch(ctx, l, func(ctx context.Context, st store.Store) ([]store.Claim, error) { return st.Claims(ctx, shard) })
}

func (l *line) Tiers(ctx context.Context) ([]store.Tier, error) {
	return fetch(ctx, l, func(ctx context.Context, st store.Store) ([]store.Tier, error) { return st.Tiers(ctx) })
}

func (l *line) FormatLevel(ctx context.Context) (store.FormatLevel, error) {
	return fetch(ctx, l, func(ctx context.Context, st store.Store) (store.FormatLevel, error) { return st.FormatLevel(ctx) })
}

func (l *line) Finalize(ctx context.Context) (store.FormatLevel, error) {
	return fetch(ctx, l, func(ctx context.Context, st store.Store) (store.FormatLevel, error) { return st.Finalize(ctx) })
}

func (l *line) JournalTTL(ctx context.Context) (time.Duration, error) {
	return fetch(ctx, l, func(ctx context.Context, st store.Store) (time.Duration, error) { return st.JournalTTL(ctx) })
}

func (l *line) Journal(ctx context.Context, shard int, w store.WriterID, after, through store.Position) iter.Seq2[store.JournalRow, error] {
	return fetchAll(ctx, l, func(ctx context.Context, st store.Store) iter.Seq2[store.JournalRow, error] {
		return st.Journal(ctx, shard, w, after, through)
	})
}

func (l *line) JournalWhere(ctx context.Context, shard int, w store.WriterID, after, through store.Position, wanted func([]byte) bool) iter.Seq2[store.JournalRow, error] {
	return fetchAll(ctx, l, func(ctx context.Context, st store.Store) iter.Seq2[store.JournalRow, error] {
		return st.JournalWhere(ctx, shard, w, after, through, wanted)
	})
}

func (l *line) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	return fetchAll(ctx, l, func(ctx context.Context, st store.Store) iter.Seq2[store.Block, error] {
		return st.Blocks(ctx, pv, b, from, to)
	})
}

func (l *line) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (blk store.Block, found bool, err error) {
	blk, err = fetch(ctx, l, func(ctx context.Context, st store.Store) (blk store.Block, err error) {
		blk, found, err = st.LastBlock(ctx, pv, b, at)
		return blk, err
	})
	return blk, found, err
}

func (l *line) Rollups(ctx context.Context, pv string, lv store.Level, first, last store.Tile) iter.Seq2[store.Rollup, error] {
	return fetchAll(ctx, l, func(ctx context.Context, st store.Store) iter.Seq2[store.Rollup, error] {
		return st.Rollups(ctx, pv, lv, first, last)
	})
}

func (l *line) Channel(ctx context.Context, pv string) (c store.Channel, found bool, err error) {
	c, err = fetch(ctx, l, func(ctx context.Context, st store.Store) (c store.Channel, err error) {
		c, found, err = st.Channel(ctx, pv)
		return c, err
	})
	return c, found, err
}

func (l *line) Channels(ctx context.Context) iter.Seq2[store.Channel, error] {
	return fetchAll(ctx, l, func(ctx context.Context, st store.Store) iter.Seq2[store.Channel, error] { return st.Channels(ctx) })
}

func (l *line) Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error] {
	return fetchAll(ctx, l, func(ctx context.Context, st store.Store) iter.Seq2[store.PVMark, error] {
		return st.Marks(ctx, pv, from, to)
	})
}

func (l *line) Metadata(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMetadata, error] {
	return fetchAll(ctx, l, func(ctx context.Context, st store.Store) iter.Seq2[store.PVMetadata, error] {
		return st.Metadata(ctx, pv, from, to)
	})
}
