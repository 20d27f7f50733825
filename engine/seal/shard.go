package seal

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Store is what a sealer needs of a store.
type Store interface {
	Claims(ctx context.Context, shard int) ([]store.Claim, error)
	Seal(ctx context.Context, shard int, w store.WriterID, to store.Position) error
	DropClaim(ctx context.Context, c store.Claim) error
	Delete(ctx context.Context, pv string) error
	Journal(ctx context.Context, shard int, w store.WriterID, after store.Position) iter.Seq2[store.JournalRow, error]
	PutBlocks(ctx context.Context, blocks ...store.Block) error
	Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error]
	LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (store.Block, bool, error)
	PutRollups(ctx context.Context, rows ...store.Rollup) error
	Rollups(ctx context.Context, pv string, l store.Level, first, last store.Tile) iter.Seq2[store.Rollup, error]
	DropBucket(ctx context.Context, pv string, b store.Bucket, before int64) (bytes int64, err error)
	Tiers(ctx context.Context) ([]store.Tier, error)
	AddChannel(ctx context.Context, c store.Channel) error
	Channel(ctx context.Context, pv string) (store.Channel, bool, error)
}

// Config is shared by the sealers of an engine.
type Config struct {
	Store Store
	// Every is the time between two checkpoints of a shard.
	Every time.Duration
	// Memory is the account of the shardJournals. Above half of its limit checkpoints
	// follow each other closely.
	Memory *journal.Memory
	// Slots bounds how many shards are at a checkpoint at once: its capacity.
	Slots chan struct{}
	// Silence is how long a writer gives no sign of life before it counts as
	// dead; 0 where a lock on the store says that no other writer lives.
	Silence time.Duration
	// Ours reports whether a writer is of this process, and lives: a shard that is
	// taken again may have another one, which is being closed.
	Ours func(w store.WriterID) bool
	// Died marks that a writer ended without closing: nothing is known of the shard
	// from its last sign of life until now (ns since 1970). It returns when that is
	// durable; after an error it is called again.
	Died func(ctx context.Context, shard int, from, to int64) error
	// Retention returns how long a PV is to be kept; false for one that is not
	// captured here, whose blocks stay where they are. Nil: all are kept forever.
	Retention func(pv string) (store.Retention, bool)
	// Captured returns the PVs of a shard that are captured here. What is stored of
	// them moves when their retention changes. Nil: nothing moves.
	Captured func(shard int) []string
	// Last returns the last sample of a PV at or before a time, in ns since 1970, as
	// far as it is sealed: a run of one sample, or nil. It may be nil itself.
	Last func(ctx context.Context, pv string, at int64) (*sample.Run, error)
	// Cutoff returns the time, in ns since 1970, before which raw samples are given up for
	// want of room. It never falls; nil: none are.
	Cutoff func() int64
	// Expired is told of samples of the shardJournal that are too old to be kept. It may be nil.
	Expired func(pv string, n int)
	// Moves is shared, as stored data moves from tier to tier; needed with Captured.
	Moves *Pace
	// DropAfter is how long a bucket stays after it was copied to another tier; 0 is
	// an hour.
	DropAfter time.Duration
	Metrics   *Metrics
	Log       *slog.Logger
}

const (
	// pressedEvery is the time between checkpoints when memory is short.
	pressedEvery = 5 * time.Second
	// watchEvery is the time between two looks at writers that may be dead.
	watchEvery = 2 * time.Second
	// followEvery is the time between two looks at what others have sealed, and at who
	// seals.
	followEvery = 5 * time.Second
	// journalBytes is how much may be written to the journal before the next
	// checkpoint: who takes over, or reads without asking the engine, reads it all.
	journalBytes = 256 << 20
)

// Shard seals one shard, or follows another engine that does. Run or Follow is
// its only goroutine, but for Delete.
type Shard struct {
	cfg          *Config
	shardJournal *journal.ShardJournal
	turn         chan struct{} // held by who works with what follows: its capacity is 1

	writer  store.WriterID // of the blocks: nobody else writes, or wrote, as this one
	n       uint32         // the highest number of a block of the series that were forgotten
	series  map[string]*series
	round   int                     // counts checkpoints
	watched map[store.WriterID]life // writers that have neither closed nor died
	tiers   []store.Tier            // that the store had at tiersAt
	tiersAt time.Time
	moves   moves
	claims  looks // at what others seal
	term    store.Term
	vacant  time.Time // since when nobody was seen to seal; zero: somebody does

	// Of what follows, Run looks without the turn.
	written   atomic.Uint64 // by the shardJournal, before the latest checkpoint
	watching  atomic.Bool   // there are watched ones
	outranked atomic.Bool   // another engine took the role
}

func (c *Config) dropAfter() time.Duration { return cmp.Or(c.DropAfter, dropAfter) }

func (c *Config) retention(pv string) (store.Retention, bool) {
	if c.Retention == nil {
		return store.Retention{}, true
	}
	return c.Retention(pv)
}

func (c *Config) last(ctx context.Context, pv string, at int64) (*sample.Run, error) {
	if c.Last == nil {
		return nil, nil
	}
	return c.Last(ctx, pv, at)
}

// life is the latest sign of life of a writer, and when it was first seen here.
// Comparing signs with each other, and only the observer's own clock with
// itself, makes clocks that differ harmless.
type life struct {
	sign int64
	seen time.Time
}

// NewShard returns the sealer of a shardJournal's shard.
func NewShard(shardJournal *journal.ShardJournal, cfg *Config) *Shard {
	return &Shard{
		cfg: cfg, shardJournal: shardJournal, turn: make(chan struct{}, 1), writer: store.NewWriter(),
		series: map[string]*series{}, watched: map[store.WriterID]life{},
	}
}

// Run takes the role of the sealer, seals what other writers left, then makes
// checkpoints until ctx ends, or another engine has taken the role: then outranked is
// true. It is called once: a checkpoint that ctx interrupts may have stored what heads
// hold and a sealer no longer knows of. That is harmless, as doubles are.
func (s *Shard) Run(ctx context.Context) (outranked bool) {
	if !s.takeRole(ctx) {
		return false
	}
	defer func() {
		s.turn <- struct{}{} // a deletion may be under way
		s.tellWaiting(0)
		<-s.turn
	}()
	last, looked := time.Now().Add(-rand.N(s.cfg.Every)), time.Now() // shards take turns
	s.checkpoint(ctx, s.look)
	tick := time.NewTicker(min(time.Second, s.cfg.Every))
	defer tick.Stop()
	for !s.outranked.Load() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if s.shardJournal.TakeHeavy() {
			s.checkpoint(ctx, s.sealHeavy)
		}
		if age := time.Since(last); age >= s.cfg.Every || age >= pressedEvery && s.pressed() {
			s.checkpoint(ctx, s.Checkpoint)
			last, looked = time.Now(), time.Now()
		} else if s.watching.Load() && time.Since(looked) >= watchEvery {
			s.checkpoint(ctx, s.look)
			looked = time.Now()
		}
		s.move(ctx)
	}
	return true
}

// pressed reports whether too much waits in memory, or in the journal. From a
// quarter of the memory on it is so for some shards at a time, so that not all of an
// engine encode at once, and capture has to wait for the processor.
func (s *Shard) pressed() bool {
	const someOf = 16
	return s.shortOfMemory() || s.shardJournal.Written()-s.written.Load() > journalBytes ||
		s.cfg.Memory.Used() > s.cfg.Memory.Limit()/4 && rand.N(someOf) == 0
}

// Watching reports whether there are claims of other engines, which have not been found
// dead.
func (s *Shard) Watching() bool { return s.watching.Load() }

// overloaded reports whether samples come faster than they are sealed, so that decimation
// has to wait: readers do without.
func (s *Shard) overloaded() bool { return s.cfg.Memory.Used() > s.cfg.Memory.Limit()/4*3 }

func (s *Shard) shortOfMemory() bool { return s.cfg.Memory.Used() > s.cfg.Memory.Limit()/2 }

// checkpoint waits for a slot, runs f and reports how it ended.
func (s *Shard) checkpoint(ctx context.Context, f func(context.Context) error) {
	for _, place := range []chan struct{}{s.turn, s.cfg.Slots} {
		select {
		case place <- struct{}{}:
			defer func() { <-place }()
		case <-ctx.Done():
			return
		}
	}
	start := time.Now()
	err := f(ctx)
	s.cfg.Metrics.Duration.Observe(time.Since(start).Seconds())
	if err != nil && ctx.Err() == nil && !errors.Is(err, errOutranked) {
		s.cfg.Metrics.Failures.Inc()
		s.cfg.Log.Warn("sealing a shard failed; it will be tried again", "shard", s.shardJournal.Shard, "err", err)
	}
}

// Checkpoint seals the rows that other writers added, and everything the shardJournal
// has made durable.
func (s *Shard) Checkpoint(ctx context.Context) error {
	s.round++
	if err := s.adopt(ctx, true); err != nil {
		return err
	}
	if err := s.sealOwn(ctx); err != nil {
		return err
	}
	if s.overloaded() {
		s.putOff()
	} else if err := s.rollOn(ctx); err != nil {
		return err
	}
	for pv, ser := range s.series {
		if ser.round < s.round {
			s.forget(pv) // nobody captures it any more
		}
	}
	if err := s.lookAtTiers(ctx); err != nil {
		return err
	}
	s.queueMoves()
	return nil
}

// Delete makes a checkpoint, then deletes everything that is stored of PVs, whose
// last samples must be durable.
func (s *Shard) Delete(ctx context.Context, pvs []string) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.Checkpoint(ctx); err != nil {
		return err
	}
	for _, pv := range pvs {
		s.forget(pv)
	}
	s.moves.forget(pvs)
	return inParallel(ctx, pvs, s.cfg.Store.Delete)
}

// forget drops what is known of a PV. Numbers of blocks are not used again.
func (s *Shard) forget(pv string) {
	if ser := s.series[pv]; ser != nil {
		s.n = max(s.n, ser.n)
		delete(s.series, pv)
	}
}

// Limits of what is encoded and written at once.
const (
	batchHeads = 256      // PVs
	batchBytes = 32 << 20 // of samples, or one that is larger
)

// sealOwn seals everything that the shardJournal has made durable.
func (s *Shard) sealOwn(ctx context.Context) error {
	to, written := s.shardJournal.Acked(), s.shardJournal.Written()
	if err := s.sealHeads(ctx, s.shardJournal.Heads()); err != nil {
		return err
	}
	s.written.Store(written)
	if err := s.cfg.Store.Seal(ctx, s.shardJournal.Shard, s.shardJournal.Writer(), to); err != nil {
		return err
	}
	s.noteRaised(s.shardJournal.Writer(), to)
	return nil
}

// sealHeavy seals what PVs of large values have made durable, so that memory and
// readers do not hold it until the next checkpoint. Blocks of large values are full
// at once; so nothing is written again, as it would be of other PVs.
func (s *Shard) sealHeavy(ctx context.Context) error {
	return s.sealHeads(ctx, slices.DeleteFunc(s.shardJournal.Heads(), func(h *journal.Head) bool { return !h.Heavy() }))
}

// sealHeads seals what heads hold now that is durable, in batches of bounded size.
func (s *Shard) sealHeads(ctx context.Context, heads []*journal.Head) error {
	due := make([]int, len(heads))
	for i, h := range heads {
		due[i] = h.Acked()
	}
	for len(heads) > 0 {
		var parts []part
		var sealed []int
		for room := batchBytes; len(parts) < min(len(heads), batchHeads) && room > 0; {
			h, r := heads[len(parts)], new(sample.Run)
			n := h.Unsealed(r, room)
			room -= r.Size()
			parts, sealed = append(parts, part{h.PV, r}), append(sealed, n)
			if n < due[len(sealed)-1] {
				break
			}
		}
		if err := s.write(ctx, parts, s.cfg.Expired); err != nil {
			return err
		}
		done := 0 // a head that has more is the last one
		for i, n := range sealed {
			heads[i].Sealed(n)
			if due[i] -= n; due[i] <= 0 {
				done++
			}
		}
		heads, due = heads[done:], due[done:]
	}
	return nil
}
