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

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Store is the part of a store that a shard journal needs.
type Store interface {
	Claims(ctx context.Context, shard int) ([]store.Claim, error)
	PutClaim(ctx context.Context, c store.Claim) error
	PutJournal(ctx context.Context, r store.JournalRow) error
}

// Config is shared by the shard journals of an engine.
type Config struct {
	Store Store
	// Flush is the longest time that a sample waits for its row to be sent.
	Flush time.Duration
	// RowBytes is the size from which the body of a row gets no further samples.
	RowBytes int
	Memory   *Memory
	// Lost is called with a mark for samples dropped for lack of memory. It must not block.
	Lost func(pv string, m sample.Mark)
	// Spool takes rows while the store is unreachable. If it is nil, they wait in memory.
	Spool Spool
	// Boot returns the time since boot, with the time in which a virtual machine was paused. Other
	// engines count that time, so the age of a claim must include it. If Boot is nil, Go's monotonic
	// clock measures the age of claims, which leaves pauses out.
	Boot func() time.Duration
	// Now returns the present instant. Readers and sealers compare it with the times of samples. If Now is
	// nil, the clock of the machine is right.
	Now     func() clock.Instant
	Metrics *Metrics
	Log     *slog.Logger
}

// Limits of a partition of the journal. When one is reached, the next partition begins.
const (
	partitionAge   = time.Minute
	partitionBytes = 32 << 20
)

// neverRenewed is the age of a claim that was never written.
const neverRenewed = time.Hour

// RenewEvery is the interval at which a writer renews its claim to show that it is alive.
const RenewEvery = 5 * time.Second

// ShardJournal journals the heads of one shard. Only Run writes to the store and to the spool.
type ShardJournal struct {
	Shard  int
	writer store.WriterID
	cfg    *Config
	boot   func() time.Duration
	now    func() clock.Instant
	began  clock.Instant
	mem    *Memory

	mu       sync.Mutex
	arrivals []arrival // of all heads, not in their runs yet
	heads    map[string][]*Head
	dirty    []*Head

	delivering sync.Mutex // held while arrivals move to runs; taken before mu
	spare      []arrival  // empty, with the memory of the previous arrivals for reuse

	acked           atomic.Uint64                 // store.Position: all rows up to here are acknowledged
	released        atomic.Uint64                 // store.Position: samples of rows up to here are not in memory
	sealed          atomic.Uint64                 // store.Position: rows up to here are known to be sealed
	written         atomic.Uint64                 // bytes of acknowledged rows
	saved           atomic.Pointer[clock.Instant] // every sample that arrived earlier is in an acknowledged row
	urgent          atomic.Bool                   // a head became urgent since the last TakeUrgent
	failure         atomic.Pointer[error]         // of the latest write; nil before the first one
	givenUp         store.Position                // belongs to the caller of GiveUp
	claimed         chan struct{}                 // closed by Run when the claim is acknowledged
	syncs           chan chan<- struct{}          // received by Run, which closes the element once all earlier samples are durable
	sealingRequests chan sealingRequest           // received by Run
	awaitsSpool     atomic.Bool                   // only the spool holds samples that are not in acknowledged rows
	abandoned       atomic.Bool                   // Run leaves the claim open at its end
	ended           chan struct{}                 // closed by Run at its end

	// The fields below belong to Run.
	claim        store.Claim
	renewed      time.Duration  // when the claim was last acknowledged, by the clock since boot
	pending      *pendingRow    // built, perhaps sent, and not acknowledged
	sent         store.Position // the latest position under which a row was, or may have been, sent
	partSince    time.Time      // when the partition of the latest row began
	partBytes    int            // acknowledged bytes in that partition
	turn         bool           // holds a turn to have a large row under way
	behind       bool           // heads have more than the pass took
	spoolDue     bool           // the store has failed for so long that rows must go to the spool
	spoolRetryAt time.Time      // when the spool may be used again after it failed
	row          rowEncoder
	scratch      sample.Run
}

// NewShardJournal returns a shard journal that writes as w. No other shard journal may
// have used w, because a closed claim stays closed. Nothing is stored until Run is
// called.
func NewShardJournal(shard int, w store.WriterID, cfg *Config) *ShardJournal {
	began := time.Now()
	boot := cfg.Boot
	if boot == nil {
		boot = func() time.Duration { return time.Since(began) }
	}
	now := cfg.Now
	if now == nil {
		now = clock.New(clock.Config{}).Now
	}
	j := &ShardJournal{
		Shard: shard, writer: w, cfg: cfg, boot: boot, now: now, renewed: boot() - neverRenewed, mem: cfg.Memory, heads: map[string][]*Head{},
		claim: store.Claim{Shard: shard, Writer: w}, claimed: make(chan struct{}),
		syncs: make(chan chan<- struct{}), sealingRequests: make(chan sealingRequest), ended: make(chan struct{}),
	}
	j.began = now()
	j.saved.Store(&j.began)
	return j
}

// Open returns a new head for samples of a PV and a type.
func (j *ShardJournal) Open(pv string, t sample.Type) *Head {
	h := &Head{PV: pv, typ: t, journal: j, run: sample.Run{Type: t}}
	j.mu.Lock()
	j.heads[pv] = append(j.heads[pv], h)
	j.mu.Unlock()
	return h
}

// arrival is a sample of a Fixed type on its way to its head. The shard journal gathers the
// samples of many PVs in one slice and delivers them at a flush or a read. It therefore
// touches each head once per flush instead of once per sample, which saves most of the work
// when there are many PVs.
type arrival struct {
	head *Head
	time int64
	word uint64
	tag  sample.Tag
}

// Append adds a sample to a head of this shard journal and copies the sample's bytes. t is the
// type of the head. Append never waits for the store.
func (j *ShardJournal) Append(h *Head, t sample.Type, s *sample.Sample) {
	if !t.Fixed() {
		if len(s.Bytes) < largeValue {
			h.add(s)
		} else if n, from, to := h.addLarge(s); n > 0 {
			j.markLost(h, n, from, to)
		}
		return
	}
	j.mu.Lock()
	j.arrivals = append(j.arrivals, arrival{h, s.Time, s.Word, s.Tag})
	j.mu.Unlock()
}

// deliverArrivals moves arrivals into the runs of their heads. When it returns, every sample
// that was appended before the call is in its run.
func (j *ShardJournal) deliverArrivals() {
	j.delivering.Lock()
	defer j.delivering.Unlock()
	j.mu.Lock()
	got := j.arrivals
	j.arrivals = j.spare
	j.mu.Unlock()
	for i := range got {
		got[i].head.add(&sample.Sample{Time: got[i].time, Word: got[i].word, Tag: got[i].tag})
	}
	clear(got) // releases the heads
	j.spare = got[:0]
}

// Recent returns copies of the samples that this shard journal holds of a PV, in order of
// arrival: those with times in [from, to], in ns since 1970, and those of each head with the
// last time at or before from. It does not copy values that are bytes, and the caller must not
// write to them.
func (j *ShardJournal) Recent(pv string, from, to int64) []*sample.Run {
	j.mu.Lock()
	heads := slices.Clone(j.heads[pv])
	j.mu.Unlock()
	if len(heads) == 0 {
		return nil
	}
	j.deliverArrivals()
	var runs []*sample.Run
	for _, h := range heads {
		if r := h.snapshot(from, to); r.Len() > 0 {
			runs = append(runs, r)
		}
	}
	return runs
}

// Heads returns the heads of all PVs, sorted by name. Several heads of one PV are in the order
// in which they were opened. Heads removes the heads that are retired and empty.
func (j *ShardJournal) Heads() []*Head {
	j.deliverArrivals()
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []*Head
	for pv, heads := range j.heads {
		heads = slices.DeleteFunc(heads, (*Head).releaseIfDone)
		if len(heads) == 0 {
			delete(j.heads, pv)
			continue
		}
		j.heads[pv] = heads
		all = append(all, heads...)
	}
	sortByPV(all)
	return all
}

// Acked returns the position up to which all rows are durable. Before Acked returns,
// every sample in these rows is in Head.Unsealed or in a block.
func (j *ShardJournal) Acked() store.Position { return store.Position(j.acked.Load()) }

// SavedUntil returns a time in ns since 1970. All samples that arrived before that time are in
// acknowledged rows, or were dropped. If the clock may be wrong, it is the earliest time that it may be: by
// what was known then, and by what is known now.
func (j *ShardJournal) SavedUntil() int64 { return j.earliest(j.saved.Load()) }

// Since returns a time in ns since 1970, before which no sample arrived: when the shard journal was made. It is
// the earliest time that it may be, like SavedUntil.
func (j *ShardJournal) Since() int64 { return j.earliest(&j.began) }

// earliest returns the earliest time of an instant in the past: by what was known then, and by what is known now.
func (j *ShardJournal) earliest(past *clock.Instant) int64 {
	at := j.now()
	return min(past.Begin, at.Ago(at.Monotonic-past.Monotonic).Begin)
}

// AwaitsSpool reports whether the shard is released, and only the spool holds samples of it that are
// not in acknowledged rows.
func (j *ShardJournal) AwaitsSpool() bool { return j.awaitsSpool.Load() }

// Written returns how many bytes of rows were acknowledged.
func (j *ShardJournal) Written() uint64 { return j.written.Load() }

// TakeUrgent reports whether a head became urgent since the previous call.
func (j *ShardJournal) TakeUrgent() bool { return j.urgent.Load() && j.urgent.Swap(false) }

// GiveUp drops the samples whose rows, up to a position, are sealed by this engine or by
// another one. Only one goroutine at a time may call it.
func (j *ShardJournal) GiveUp(sealed store.Position) {
	if sealed <= j.givenUp {
		return
	}
	j.givenUp = sealed
	j.NoteSealed(sealed)
	for _, h := range j.Heads() {
		h.giveUp(sealed)
	}
}

// NoteSealed notes that all rows up to a position are in acknowledged blocks, and that the store
// knows it.
func (j *ShardJournal) NoteSealed(to store.Position) {
	j.sealed.Store(max(j.sealed.Load(), uint64(to)))
}

// SealedTo returns the latest position that NoteSealed was called with.
func (j *ShardJournal) SealedTo() store.Position { return store.Position(j.sealed.Load()) }

// Released returns the rows whose samples are perhaps neither in memory nor sealed, because memory
// was short: those after one position and up to another. It is false if there are none. A row is
// among them before its samples leave memory.
func (j *ShardJournal) Released() (after, to store.Position, some bool) {
	after, to = j.SealedTo(), store.Position(j.released.Load())
	return after, to, to > after
}

// Forget drops all samples, so that they no longer count as memory. Run must have ended,
// and no reader may rely on this shard journal to know what is in its rows.
func (j *ShardJournal) Forget() {
	for _, h := range j.Heads() {
		h.forget()
	}
}

// Sync waits until every sample that was appended before the call is durable. It fails when
// ctx or Run ends.
func (j *ShardJournal) Sync(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case j.syncs <- done:
	case <-j.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-j.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errEnded = errors.New("the journal of the shard has ended")

// sealingRequest asks Run to write a sealing term into the claim.
type sealingRequest struct {
	term store.Term
	done chan<- error // has a capacity of 1
}

// SetSealing writes a term into the claim: it says whether the engine leads, follows or
// assists. It returns when the store has acknowledged the claim. After an error (ctx or Run
// ended, or the store failed), the claim may have the old or the new term.
func (j *ShardJournal) SetSealing(ctx context.Context, term store.Term) error {
	done := make(chan error, 1)
	select {
	case j.sealingRequests <- sealingRequest{term, done}:
	case <-j.ended:
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
func (j *ShardJournal) Failing() bool { return j.Failure() != nil }

// Failure returns the error of the latest write to the store, or nil if it succeeded.
func (j *ShardJournal) Failure() error {
	if err := j.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Claimed returns a channel that is closed when the claim is in the store.
func (j *ShardJournal) Claimed() <-chan struct{} { return j.claimed }

// Writer returns the writer ID of the rows.
func (j *ShardJournal) Writer() store.WriterID { return j.writer }

func (j *ShardJournal) markDirty(h *Head) {
	j.mu.Lock()
	j.dirty = append(j.dirty, h)
	j.mu.Unlock()
}

// takeDirty returns the heads with new samples, sorted by name, and empties the list.
func (j *ShardJournal) takeDirty() []*Head {
	j.deliverArrivals()
	j.mu.Lock()
	dirty := j.dirty
	j.dirty = make([]*Head, 0, len(dirty))
	j.mu.Unlock()
	sortByPV(dirty)
	return dirty
}

// redirty puts heads back that takeDirty returned and that were not flushed.
func (j *ShardJournal) redirty(dirty []*Head) {
	j.mu.Lock()
	j.dirty = append(j.dirty, dirty...)
	j.mu.Unlock()
}

func sortByPV(heads []*Head) {
	slices.SortStableFunc(heads, func(a, b *Head) int { return cmp.Compare(a.PV, b.PV) })
}
