package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// ErrNotOpen is wrapped by the errors of a Pending store that is not open yet.
var ErrNotOpen = errors.New("the store is not open yet")

// Pending is a store that is being opened in the background: until then every
// call fails with ErrNotOpen. So an engine can capture into memory while its
// store is away, and its shardJournals repeat their writes as in any other outage.
type Pending struct {
	real    atomic.Pointer[Store]
	explain func(error) string
	state   atomic.Pointer[string]
	cancel  context.CancelFunc
	opening sync.WaitGroup
}

var _ Store = (*Pending)(nil)

// Pauses between two tries to open a store.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second
)

// OpenLater begins to call open, until it succeeds or Close is called. Explain turns
// an error of open into a State; it must be a stable text.
func OpenLater(open func(ctx context.Context) (Store, error), explain func(error) string) *Pending {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pending{explain: explain, cancel: cancel}
	p.note("Opening: the store was not reached yet")
	p.opening.Go(func() { p.open(ctx, open) })
	return p
}

func (p *Pending) open(ctx context.Context, open func(ctx context.Context) (Store, error)) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		st, err := open(ctx)
		if err == nil {
			p.real.Store(&st)
			p.note("")
			return
		}
		p.note(p.explain(err))
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
	}
}

func (p *Pending) note(state string) { p.state.Store(&state) }

// State says why the store is not open; it is empty once it is.
func (p *Pending) State() string { return *p.state.Load() }

// store returns the store, or why it can not be used.
func (p *Pending) store() (Store, error) {
	if st := p.real.Load(); st != nil {
		return *st, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrNotOpen, p.State())
}

// with calls f with the store.
func (p *Pending) with(f func(Store) error) error {
	st, err := p.store()
	if err != nil {
		return err
	}
	return f(st)
}

// sequence yields what f of the store yields.
func sequence[T any](p *Pending, f func(Store) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		st, err := p.store()
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		f(st)(yield)
	}
}

// Close ends the opening, and closes the store if it is open.
func (p *Pending) Close() error {
	p.cancel()
	p.opening.Wait()
	if st := p.real.Load(); st != nil {
		return (*st).Close()
	}
	return nil
}

// PutClaim implements Store.
func (p *Pending) PutClaim(ctx context.Context, c Claim) error {
	return p.with(func(st Store) error { return st.PutClaim(ctx, c) })
}

// Seal implements Store.
func (p *Pending) Seal(ctx context.Context, shard int, w WriterID, to Position) error {
	return p.with(func(st Store) error { return st.Seal(ctx, shard, w, to) })
}

// Claims implements Store.
func (p *Pending) Claims(ctx context.Context, shard int) (claims []Claim, err error) {
	err = p.with(func(st Store) (err error) { claims, err = st.Claims(ctx, shard); return err })
	return claims, err
}

// DropClaim implements Store.
func (p *Pending) DropClaim(ctx context.Context, c Claim) error {
	return p.with(func(st Store) error { return st.DropClaim(ctx, c) })
}

// PutJournal implements Store.
func (p *Pending) PutJournal(ctx context.Context, r JournalRow) error {
	return p.with(func(st Store) error { return st.PutJournal(ctx, r) })
}

// Journal implements Store.
func (p *Pending) Journal(ctx context.Context, shard int, w WriterID, after Position) iter.Seq2[JournalRow, error] {
	return sequence(p, func(st Store) iter.Seq2[JournalRow, error] { return st.Journal(ctx, shard, w, after) })
}

// PutBlocks implements Store.
func (p *Pending) PutBlocks(ctx context.Context, blocks ...Block) error {
	return p.with(func(st Store) error { return st.PutBlocks(ctx, blocks...) })
}

// Blocks implements Store.
func (p *Pending) Blocks(ctx context.Context, pv string, b Bucket, from, to int64) iter.Seq2[Block, error] {
	return sequence(p, func(st Store) iter.Seq2[Block, error] { return st.Blocks(ctx, pv, b, from, to) })
}

// LastBlock implements Store.
func (p *Pending) LastBlock(ctx context.Context, pv string, b Bucket, at int64) (blk Block, found bool, err error) {
	err = p.with(func(st Store) (err error) { blk, found, err = st.LastBlock(ctx, pv, b, at); return err })
	return blk, found, err
}

// DropBucket implements Store.
func (p *Pending) DropBucket(ctx context.Context, pv string, b Bucket, before int64) (bytes int64, err error) {
	err = p.with(func(st Store) (err error) { bytes, err = st.DropBucket(ctx, pv, b, before); return err })
	return bytes, err
}

// PutRollups implements Store.
func (p *Pending) PutRollups(ctx context.Context, rows ...Rollup) error {
	return p.with(func(st Store) error { return st.PutRollups(ctx, rows...) })
}

// Rollups implements Store.
func (p *Pending) Rollups(ctx context.Context, pv string, l Level, first, last Tile) iter.Seq2[Rollup, error] {
	return sequence(p, func(st Store) iter.Seq2[Rollup, error] { return st.Rollups(ctx, pv, l, first, last) })
}

// Expire implements Store.
func (p *Pending) Expire(ctx context.Context, now int64) error {
	return p.with(func(st Store) error { return st.Expire(ctx, now) })
}

// Tiers implements Store.
func (p *Pending) Tiers(ctx context.Context) (tiers []Tier, err error) {
	err = p.with(func(st Store) (err error) { tiers, err = st.Tiers(ctx); return err })
	return tiers, err
}

// AddChannel implements Store.
func (p *Pending) AddChannel(ctx context.Context, c Channel) error {
	return p.with(func(st Store) error { return st.AddChannel(ctx, c) })
}

// Channel implements Store.
func (p *Pending) Channel(ctx context.Context, pv string) (c Channel, found bool, err error) {
	err = p.with(func(st Store) (err error) { c, found, err = st.Channel(ctx, pv); return err })
	return c, found, err
}

// Channels implements Store.
func (p *Pending) Channels(ctx context.Context) iter.Seq2[Channel, error] {
	return sequence(p, func(st Store) iter.Seq2[Channel, error] { return st.Channels(ctx) })
}

// PutMarks implements Store.
func (p *Pending) PutMarks(ctx context.Context, marks ...PVMark) error {
	return p.with(func(st Store) error { return st.PutMarks(ctx, marks...) })
}

// Marks implements Store.
func (p *Pending) Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[PVMark, error] {
	return sequence(p, func(st Store) iter.Seq2[PVMark, error] { return st.Marks(ctx, pv, from, to) })
}

// PutMetadata implements Store.
func (p *Pending) PutMetadata(ctx context.Context, m PVMetadata) error {
	return p.with(func(st Store) error { return st.PutMetadata(ctx, m) })
}

// MetadataAt implements Store.
func (p *Pending) MetadataAt(ctx context.Context, pv string, at int64) (m PVMetadata, found bool, err error) {
	err = p.with(func(st Store) (err error) { m, found, err = st.MetadataAt(ctx, pv, at); return err })
	return m, found, err
}

// Metadata implements Store.
func (p *Pending) Metadata(ctx context.Context, pv string, from, to int64) iter.Seq2[PVMetadata, error] {
	return sequence(p, func(st Store) iter.Seq2[PVMetadata, error] { return st.Metadata(ctx, pv, from, to) })
}

// Delete implements Store.
func (p *Pending) Delete(ctx context.Context, pv string) error {
	return p.with(func(st Store) error { return st.Delete(ctx, pv) })
}

// PutCutoff implements Store.
func (p *Pending) PutCutoff(ctx context.Context, f Cutoff) error {
	return p.with(func(st Store) error { return st.PutCutoff(ctx, f) })
}

// Cutoff implements Store.
func (p *Pending) Cutoff(ctx context.Context) (f Cutoff, found bool, err error) {
	err = p.with(func(st Store) (err error) { f, found, err = st.Cutoff(ctx); return err })
	return f, found, err
}

// PutCutoffProgress implements Store.
func (p *Pending) PutCutoffProgress(ctx context.Context, s CutoffProgress) error {
	return p.with(func(st Store) error { return st.PutCutoffProgress(ctx, s) })
}

// CutoffProgress implements Store.
func (p *Pending) CutoffProgress(ctx context.Context) (s []CutoffProgress, err error) {
	err = p.with(func(st Store) (err error) { s, err = st.CutoffProgress(ctx); return err })
	return s, err
}

// Limit implements Store.
func (p *Pending) Limit(ctx context.Context) (bytes int64, err error) {
	err = p.with(func(st Store) (err error) { bytes, err = st.Limit(ctx); return err })
	return bytes, err
}

// Size implements Store.
func (p *Pending) Size(ctx context.Context) (n int64, err error) {
	err = p.with(func(st Store) (err error) { n, err = st.Size(ctx); return err })
	return n, err
}
