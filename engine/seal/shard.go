package seal

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/relocation"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/tiling"
)

// Store is the part of a store that a sealer needs.
type Store interface {
	Claims(ctx context.Context, shard int) ([]store.Claim, error)
	Seal(ctx context.Context, shard int, w store.WriterID, to store.Position) error
	DropClaim(ctx context.Context, c store.Claim) error
	JournalTTL(ctx context.Context) (time.Duration, error)
	Delete(ctx context.Context, pv string) error
	Journal(ctx context.Context, shard int, w store.WriterID, after, through store.Position) iter.Seq2[store.JournalRow, error]
	JournalWhere(ctx context.Context, shard int, w store.WriterID, after, through store.Position, wanted func(index []byte) bool) iter.Seq2[store.JournalRow, error]
	PutJournal(ctx context.Context, r store.JournalRow) error
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
	// Memory is the account of the shard journals. Above half of its limit, checkpoints follow
	// each other closely.
	Memory *journal.Memory
	// Slots is a semaphore. Its capacity bounds how many shards are at a checkpoint at the
	// same time.
	Slots chan struct{}
	// Silence is the time without a sign of life after which a writer counts as dead. It is 0
	// if a lock on the store guarantees that no other writer lives.
	Silence time.Duration
	// Ours reports whether a writer belongs to this process and is alive. If the engine holds
	// a shard again, an earlier writer of this process may still be closing.
	Ours func(w store.WriterID) bool
	// Died marks that a writer of a shard ended without closing its claim: samples may be
	// missing between from and to, in ns since 1970. It returns when the mark is durable. After an
	// error it is called again.
	Died func(ctx context.Context, shard int, from, to int64) error
	// Retention returns how long a PV must be kept. It returns false for a PV that is not
	// captured here, and the blocks of such a PV stay where they are. If Retention is nil, all
	// PVs are kept forever.
	Retention func(pv string) (store.Retention, bool)
	// Captured returns the PVs of a shard that are captured here. Their blocks migrate to
	// another tier when their retention changes. If Captured is nil, no blocks migrate.
	Captured func(shard int) []string
	// Last returns the last sealed sample of a PV at or before a time, in ns since 1970, as a
	// run of one sample. It returns nil if there is no such sample. Last itself may be nil.
	Last func(ctx context.Context, pv string, at int64) (*sample.Run, error)
	// Cutoff returns the deletion cutoff, in ns since 1970. Raw samples before it are deleted
	// to free disk space. It never falls. If Cutoff is nil, there is no cutoff.
	Cutoff func() int64
	// Expired is called with the number of samples of the shard journal that were too old to
	// be kept. It may be nil.
	Expired func(pv string, n int)
	// Damaged is called with the samples of a PV that are lost because a block or a journal row
	// is damaged. The PV is empty if the damage hides the names: then samples of any PV of the
	// shard may be lost. It may be nil.
	Damaged func(shard int, pv string, m sample.Mark)
	// Clock says how late it may be, so that nothing expires because this machine's clock is
	// wrong. If it is nil, the clock is right.
	Clock *clock.Clock
	// Pace limits the rate of tier migrations. All sealers share it. It is required if
	// Captured is set.
	Pace *relocation.Pace
	// DropAfter is how long a bucket stays after it was copied to another tier. If it is 0,
	// the bucket stays for an hour.
	DropAfter time.Duration
	// LateQuiet and LateAge say when rollups are corrected for late samples of a writer that is
	// closed: when no more of them came for LateQuiet, or when the first of them came before
	// LateAge. If they are 0, the rollups are corrected at the end of the checkpoint.
	LateQuiet, LateAge time.Duration
	Metrics            *Metrics
	Log                *slog.Logger

	found Damage
	open  atomic.Int64 // bytes of open blocks of all shards
	sets  atomic.Int64 // bytes of the sets of late PVs that held rows of all shards wait for
}

// Found returns the damage that the sealers of the engine found.
func (c *Config) Found() *Damage { return &c.found }

const (
	// pressedEvery is the time between checkpoints when memory is short.
	pressedEvery = 5 * time.Second
	// watchEvery is the time between two checks of writers that may be dead.
	watchEvery = 2 * time.Second
	// lookEvery is the time between two checks for writers that have closed their claims, such as
	// imports. Soon after the leader found one, it checks at the interval watchEvery, for lookFor.
	lookEvery = 10 * time.Second
	lookFor   = time.Minute
	// followEvery is the time between two reads of the claims by a follower.
	followEvery = 5 * time.Second
	// journalBytes is how much may be written to the journal before the next checkpoint. A new
	// leader, and a reader that cannot query the engine, read all of it.
	journalBytes = 256 << 20
)

// Shard seals one shard, or follows another engine that seals it. Only one goroutine at a time
// may call Run or Follow. Any goroutine may call Delete and DropBefore.
type Shard struct {
	cfg          *Config
	clock        *clock.Clock
	shardJournal *journal.ShardJournal
	turn         chan struct{} // of capacity 1: its holder may use the fields up to vacantSince
	leads        chan struct{} // closed by claimTerm when the claim has the term

	writer    store.WriterID // of the blocks; no other sealer ever uses this ID
	n         uint32         // the highest block number of the series that were forgotten
	series    map[string]*series
	tiles     *tiling.Shard
	blocks    *relocation.Shard
	round     int                     // counts checkpoints
	watched   map[store.WriterID]life // writers that have neither closed nor died
	tiers     []store.Tier            // that the store had at tiersAt
	tiersAt   time.Time
	positions positions
	term      store.Term
	damage    damage
	refused   refusals
	held      map[store.WriterID][]heldRows
	saved     map[store.WriterID]saved
	heldSets  int64 // bytes of the sets of late PVs in held that count as memory
	importing bool  // the samples are those of an Importer
	ended     bool  // Run has ended, so nothing may count as memory any longer
	// vacantSince is when the shard was first seen without a leader. It is zero if the shard
	// has a leader.
	vacantSince time.Time

	// Run reads the following fields without the turn.
	written    atomic.Uint64 // bytes of the shard journal before the latest checkpoint
	watching   atomic.Bool   // there are watched writers
	adopted    atomic.Int64  // when rows of a writer that has ended were last sealed, in ns since 1970
	correcting atomic.Bool   // tiles lack late samples
	superseded atomic.Bool   // another engine leads
	checked    claimsCheck
	lag        lag
}

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

// life is the latest sign of life of a writer, and the time when this process first saw it.
// Clocks that differ do no harm, because isSilent compares signs only with each other, and
// seen only with this process's own clock.
type life struct {
	sign int64
	seen time.Time
}

// NewShard returns the sealer of a shard journal's shard.
func NewShard(shardJournal *journal.ShardJournal, cfg *Config) *Shard {
	s := &Shard{
		cfg: cfg, clock: cfg.Clock, shardJournal: shardJournal, turn: make(chan struct{}, 1), leads: make(chan struct{}), writer: store.NewWriter(),
		series: map[string]*series{}, watched: map[store.WriterID]life{}, held: map[store.WriterID][]heldRows{},
		saved: map[store.WriterID]saved{},
	}
	if s.clock == nil {
		s.clock = clock.New(clock.Config{})
	}
	s.blocks = relocation.New(relocation.Config{
		Store: cfg.Store, Clock: s.clock, Shard: shardJournal.Shard, Writer: shardJournal.Writer(), CheckLeader: s.checkLeader,
		Tiers: func() []store.Tier { return s.tiers }, Retention: cfg.retention, Captured: cfg.Captured, Last: cfg.last,
		Cutoff: cfg.Cutoff, Ours: cfg.Ours, Pace: cfg.Pace, DropAfter: cfg.DropAfter,
		Damaged: s.quarantine, Metrics: cfg.Metrics.Relocation, Log: cfg.Log,
	})
	s.tiles = tiling.New(tiling.Config{
		Store: cfg.Store, Clock: s.clock, Shard: shardJournal.Shard, Every: cfg.Every, LateAge: cfg.LateAge, Retention: cfg.retention, Cutoff: s.blocks.Cutoff,
		MayWrite: s.checkClaims, Damaged: s.quarantine, Metrics: cfg.Metrics.Tiling, Log: cfg.Log,
	})
	return s
}

// Run becomes the leader, seals the rows that other writers left, and then makes checkpoints.
// It returns false when ctx ends, and true when another engine leads. It must be called only
// once: a checkpoint that ctx interrupts may have stored samples that heads still hold, and
// the sealer no longer knows this. Such duplicates are harmless.
func (s *Shard) Run(ctx context.Context) (superseded bool) {
	if !s.becomeLeader(ctx) {
		return false
	}
	defer func() {
		s.turn <- struct{}{} // a deletion may be under way
		s.blocks.Stop()
		s.dropOpen()
		s.dropHeld()
		s.ended = true
		<-s.turn
	}()
	preserving, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.preserve(preserving) })
	defer wg.Wait()
	defer stop()
	last, checked := time.Now().Add(-rand.N(s.cfg.Every)), time.Now() // spreads the checkpoints of an engine's shards
	s.checkpoint(ctx, s.adoptEnded)
	tick := time.NewTicker(min(time.Second, s.cfg.Every))
	defer tick.Stop()
	for !s.superseded.Load() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if s.shardJournal.TakeUrgent() {
			s.checkpoint(ctx, s.sealUrgent)
		}
		if age := time.Since(last); age >= s.cfg.Every || age >= pressedEvery && s.isPressed() {
			s.checkpoint(ctx, s.Checkpoint)
			last, checked = time.Now(), time.Now()
		} else if time.Since(checked) >= s.lookWait() {
			s.checkpoint(ctx, s.adoptEnded)
			checked = time.Now()
		}
		s.migrate(ctx)
	}
	return true
}

// lookWait returns the time between two checks for rows of writers that have ended.
func (s *Shard) lookWait() time.Duration {
	if s.watching.Load() || s.correcting.Load() || time.Since(time.Unix(0, s.adopted.Load())) < lookFor {
		return watchEvery
	}
	return lookEvery
}

// Watching reports whether the shard has claims of other engines that are neither closed nor
// known to be dead.
func (s *Shard) Watching() bool { return s.watching.Load() }

// Checkpoint seals the rows that other writers added, and everything that the shard journal
// has made durable. Then it corrects rollups for late samples, completes rollups and queues tier
// migrations. If the rows of a writer cannot be sealed, or the rollups of a PV cannot be completed,
// nothing else waits for them, and Checkpoint returns the error at its end.
func (s *Shard) Checkpoint(ctx context.Context) error {
	s.round++
	s.tiles.BeginCheckpoint()
	adopting, err := s.adopt(ctx, true)
	if err != nil {
		return err
	}
	if err := s.sealOwn(ctx); err != nil {
		return err
	}
	if err := s.correctLate(ctx); err != nil {
		return err
	}
	var completing error
	overloaded := s.isOverloaded()
	if overloaded {
		s.tiles.PutOff()
	} else if completing = s.tiles.Complete(ctx); ctx.Err() != nil || errors.Is(completing, errSuperseded) {
		return completing
	}
	for pv, ser := range s.series {
		if ser.round < s.round && !overloaded && completing == nil && !s.tiles.IsLate(pv) && !s.tiles.Lags(pv) {
			s.forget(pv) // no engine captures it any longer, and its last bins are in tiles
		}
	}
	if err := s.refreshTiers(ctx); err != nil {
		return err
	}
	s.blocks.QueueMigrations()
	return cmp.Or(adopting, completing)
}

// forget drops the state of a PV. Its block numbers are not used again.
func (s *Shard) forget(pv string) {
	if ser := s.series[pv]; ser != nil {
		s.n = max(s.n, ser.n)
		ser.open = nil
		s.countBlock(ser)
		delete(s.series, pv)
	}
	s.tiles.Forget(pv)
}
