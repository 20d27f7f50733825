package journal

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Store is what a shardJournal needs of a store.
type Store interface {
	Claims(ctx context.Context, shard int) ([]store.Claim, error)
	PutClaim(ctx context.Context, c store.Claim) error
	PutJournal(ctx context.Context, r store.JournalRow) error
}

// Config is shared by the shardJournals of an engine.
type Config struct {
	Store Store
	// Flush is how long a sample waits at most for its row to be sent.
	Flush time.Duration
	// RowBytes is the size of a row's body that is sent without waiting.
	RowBytes int
	Memory   *Memory
	// Lost is told of samples dropped for want of memory. It must not block.
	Lost func(pv string, m sample.Mark)
	// Spool takes rows while the store is away; nil: they wait in memory.
	Spool   Spool
	Metrics *Metrics
	Log     *slog.Logger
}

// Limits of a partition of the journal, after which the next one is begun.
const (
	partitionAge   = time.Minute
	partitionBytes = 32 << 20
)

// RenewEvery is how often a claim says that its writer lives.
const RenewEvery = 5 * time.Second

// ShardJournal journals the heads of one shard. Run is its only goroutine.
type ShardJournal struct {
	Shard  int
	writer store.WriterID
	cfg    *Config
	mem    *Memory

	mu       sync.Mutex
	arrivals []arrival // of all heads, not in their runs yet
	heads    map[string][]*Head
	dirty    []*Head

	settling sync.Mutex // held while arrivals move to runs; taken before mu
	spare    []arrival  // empty: the memory of the arrivals before

	acked   atomic.Uint64        // store.Position: all rows up to here are acknowledged
	written atomic.Uint64        // bytes of acknowledged rows
	heavy   atomic.Bool          // a head became heavy since TakeHeavy
	failing atomic.Bool          // the latest write failed
	givenUp store.Position       // belongs to who calls GiveUp
	claimed chan struct{}        // closed by Run when the claim is acknowledged
	syncs   chan chan<- struct{} // taken by Run: closed when nothing waits any more
	ranks   chan rank            // taken by Run
	ended   chan struct{}        // closed by Run at its end

	// The rest belongs to Run.
	claim     store.Claim
	renewed   time.Time      // when claim was last acknowledged
	saved     time.Time      // what arrived before is in acknowledged rows
	pending   *pendingRow    // sent, or to be sent, and not acknowledged
	sent      store.Position // the latest that a row was sent under, if only perhaps
	partSince time.Time      // when the partition of the latest row was begun
	partBytes int            // acknowledged in it
	turn      bool           // to have a large row under way
	behind    bool           // heads have more than the pass took
	away      bool           // the store has failed for so long that the spool is due
	spoolFrom time.Time      // when the spool may be used, after it failed
	row       rowEncoder
	scratch   sample.Run
}

// NewShardJournal returns a shardJournal that writes as w, which no other shardJournal does or did: a
// claim that is closed stays closed. Nothing is stored until Run is called.
func NewShardJournal(shard int, w store.WriterID, cfg *Config) *ShardJournal {
	return &ShardJournal{
		Shard: shard, writer: w, cfg: cfg, mem: cfg.Memory, heads: map[string][]*Head{},
		claim: store.Claim{Shard: shard, Writer: w}, saved: time.Now(), claimed: make(chan struct{}),
		syncs: make(chan chan<- struct{}), ranks: make(chan rank), ended: make(chan struct{}),
	}
}

// Open returns a new head for samples of a PV and a type.
func (l *ShardJournal) Open(pv string, t sample.Type) *Head {
	h := &Head{PV: pv, typ: t, shardJournal: l, run: sample.Run{Type: t}}
	l.mu.Lock()
	l.heads[pv] = append(l.heads[pv], h)
	l.mu.Unlock()
	return h
}

// arrival is a sample of a Fixed type on its way to its head. Gathering samples
// of many PVs in one place, and sorting them out when somebody looks, touches
// each head once per flush instead of once per sample: at many PVs that is most
// of the work.
type arrival struct {
	head *Head
	time int64
	word uint64
	tag  sample.Tag
}

// Append adds a sample to a head of the shardJournal, whose type is t, copying its bytes.
// It never blocks on storage.
func (l *ShardJournal) Append(h *Head, t sample.Type, s *sample.Sample) {
	if !t.Fixed() {
		if len(s.Bytes) < largeValue {
			h.add(s)
		} else if n, from, to := h.addLarge(s); n > 0 {
			l.lost(h, n, from, to)
		}
		return
	}
	l.mu.Lock()
	l.arrivals = append(l.arrivals, arrival{h, s.Time, s.Word, s.Tag})
	l.mu.Unlock()
}

// settle puts what has arrived into the runs of the heads. When it returns, every
// sample appended before stands in its run.
func (l *ShardJournal) settle() {
	l.settling.Lock()
	defer l.settling.Unlock()
	l.mu.Lock()
	got := l.arrivals
	l.arrivals = l.spare
	l.mu.Unlock()
	for i := range got {
		got[i].head.add(&sample.Sample{Time: got[i].time, Word: got[i].word, Tag: got[i].tag})
	}
	clear(got) // lets go of the heads
	l.spare = got[:0]
}

// Recent returns copies of all samples held of a PV, in order of arrival. Values
// that are bytes are not copied, and must not be written to.
func (l *ShardJournal) Recent(pv string) []*sample.Run {
	l.mu.Lock()
	heads := slices.Clone(l.heads[pv])
	l.mu.Unlock()
	if len(heads) == 0 {
		return nil
	}
	l.settle()
	var runs []*sample.Run
	for _, h := range heads {
		if r := h.snapshot(); r != nil {
			runs = append(runs, r)
		}
	}
	return runs
}

// Heads returns the heads of every PV, sorted by name, those of one PV in the
// order in which they were opened. It forgets heads that are retired and empty.
func (l *ShardJournal) Heads() []*Head {
	l.settle()
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*Head
	for pv, heads := range l.heads {
		heads = slices.DeleteFunc(heads, (*Head).over)
		if len(heads) == 0 {
			delete(l.heads, pv)
			continue
		}
		l.heads[pv] = heads
		all = append(all, heads...)
	}
	sortByPV(all)
	return all
}

// Acked returns the position up to which all rows are durable. Every sample in
// them is, from before Acked returns, in Head.Unsealed or in a block.
func (l *ShardJournal) Acked() store.Position { return store.Position(l.acked.Load()) }

// Written returns how many bytes of rows were acknowledged.
func (l *ShardJournal) Written() uint64 { return l.written.Load() }

// TakeHeavy reports whether a head became heavy since it was called before.
func (l *ShardJournal) TakeHeavy() bool { return l.heavy.Load() && l.heavy.Swap(false) }

// GiveUp drops samples whose rows, up to a position, are sealed: others than the
// shardJournal's own sealer may have done that. It is called by one goroutine at a time.
func (l *ShardJournal) GiveUp(sealed store.Position) {
	if sealed <= l.givenUp {
		return
	}
	l.givenUp = sealed
	for _, h := range l.Heads() {
		h.giveUp(sealed)
	}
}

// Forget gives up all samples, so that they count as memory no more. Run must
// have ended, and nobody may count on the shardJournal to know what is in its rows.
func (l *ShardJournal) Forget() {
	for _, h := range l.Heads() {
		h.forget()
	}
}

// Sync waits until every sample appended before is durable. It fails when ctx or
// Run ends.
func (l *ShardJournal) Sync(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case l.syncs <- done:
	case <-l.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-l.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errEnded = errors.New("the journal of the shard has ended")

// rank is a term to be written in the claim.
type rank struct {
	term store.Term
	done chan<- error // has room for the answer
}

// SetSealing writes in the claim, for as long as it stands, what the engine does with the
// rows of the shard. It returns when that is acknowledged. After an error, which says that
// ctx or Run ended, or that the store failed, the claim may say either.
func (l *ShardJournal) SetSealing(ctx context.Context, term store.Term) error {
	done := make(chan error, 1)
	select {
	case l.ranks <- rank{term, done}:
	case <-l.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Failing reports whether the latest write to the store failed.
func (l *ShardJournal) Failing() bool { return l.failing.Load() }

// Claimed is closed when the shardJournal's claim stands in the store.
func (l *ShardJournal) Claimed() <-chan struct{} { return l.claimed }

// Writer returns the writer of the shardJournal's rows.
func (l *ShardJournal) Writer() store.WriterID { return l.writer }

func (l *ShardJournal) markDirty(h *Head) {
	l.mu.Lock()
	l.dirty = append(l.dirty, h)
	l.mu.Unlock()
}

// takeDirty returns the heads with new samples, sorted by name.
func (l *ShardJournal) takeDirty() []*Head {
	l.settle()
	l.mu.Lock()
	dirty := l.dirty
	l.dirty = make([]*Head, 0, len(dirty))
	l.mu.Unlock()
	sortByPV(dirty)
	return dirty
}

// redirty gives heads back that takeDirty returned and that were not flushed.
func (l *ShardJournal) redirty(dirty []*Head) {
	l.mu.Lock()
	l.dirty = append(l.dirty, dirty...)
	l.mu.Unlock()
}

func sortByPV(heads []*Head) {
	slices.SortStableFunc(heads, func(a, b *Head) int { return cmp.Compare(a.PV, b.PV) })
}
