package migration

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/retry"
	"varve.dev/varve/engine/store"
)

// Limits of samples that are on their way into an archive with engines.
const (
	// rowBytes is the size of the samples of a journal row, before they are encoded.
	rowBytes = 1 << 20
	// rowsInFlight is how many rows of a segment are written at a time.
	rowsInFlight = 4
	// segmentBytes is the size of the rows of a segment, and maxUnsealed of the rows that no engine has sealed yet: of
	// a shard, and of all shards. Each read of a PV looks through the indexes of its shard's rows. The sealer corrects
	// rollups without further delay once 32 MiB of a shard wait, so the limit of a shard must be higher.
	segmentBytes     = 8 << 20
	maxUnsealed      = 48 << 20
	maxUnsealedOfAll = 4 * maxUnsealed
)

// Times of an import into an archive with engines.
const (
	// lookEvery is the time between two reads of the claims of shards with unsealed rows.
	lookEvery = 2 * time.Second
	// publishAfter is the age at which a segment is published although it is not full, because its rows may expire.
	publishAfter = 5 * time.Minute
	// patience is how long the importer repeats an operation of the store that fails.
	patience = 2 * time.Minute
	// leaderWait is how long the importer waits for a sign of life of the leader of a shard before it begins, and
	// leaderPatience is how long it waits later. A leader renews its claim every 5 s.
	leaderWait     = 30 * time.Second
	leaderPatience = 10 * time.Minute
	// recent is the age of samples that engines may not have sealed yet.
	recent = 25 * time.Hour
)

var (
	// ErrArchive is wrapped by an error of the archive with which the import of other PVs would fail, too.
	ErrArchive = errors.New("the archive refuses the import")
	// ErrNoLeader is wrapped by an error if no engine seals a shard.
	ErrNoLeader = errors.New("no engine seals the samples")
)

// journaled stores samples in an archive in which engines work: it writes rows of the journal under writers of its own,
// and the engines seal them. docs/design/import.md explains why no sample is lost.
//
//	run ─▶ row ─▶ segment: rows of a shard and a writer ── closed claim ─▶ published ── an engine seals ─▶ the PVs' reports
type journaled struct {
	store   store.Store
	log     *slog.Logger
	final   func(error) bool // reports an error with which the store refuses every try
	now     func() int64     // by the clocks of the store, in ns since 1970
	boot    func() time.Duration
	ttl     time.Duration // of journal rows; 0: they do not expire
	waiting *atomic.Int64 // counts samples that are not sealed

	ctx  context.Context // ends with the first error that ends the import
	end  context.CancelCauseFunc
	done sync.WaitGroup

	mu       sync.Mutex
	queues   map[int]*queue
	unsealed map[int][]*segment // by shard, in the order of publication
	bytes    map[int]int        // of unsealed, by shard
	all      int                // bytes of all shards
	accounts map[*account]bool  // that wait
	changed  chan struct{}      // closed when some of the above have become fewer
	lives    map[int]life       // of the leaders of shards
}

// newJournaled returns a journaled that works until ctx or close ends it, once start is called.
func newJournaled(ctx context.Context, opts *Options, now func() int64, waiting *atomic.Int64) (*journaled, error) {
	ttl, err := opts.Store.JournalTTL(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading how long journal rows are kept: %w", err)
	}
	j := &journaled{
		store: opts.Store, log: opts.Log, final: opts.Final, now: now, boot: clock.SinceBoot, ttl: ttl, waiting: waiting,
		queues: map[int]*queue{}, unsealed: map[int][]*segment{}, bytes: map[int]int{}, accounts: map[*account]bool{},
		changed: make(chan struct{}), lives: map[int]life{},
	}
	if j.final == nil {
		j.final = func(error) bool { return false }
	}
	j.ctx, j.end = context.WithCancelCause(ctx)
	return j, nil
}

// start begins to watch what becomes of the samples.
func (j *journaled) start() { j.done.Go(j.watch) }

// close ends all work. Samples that are not published are dropped.
func (j *journaled) close() {
	j.end(context.Canceled)
	j.done.Wait()
}

// fail ends the import.
func (j *journaled) fail(err error) error {
	j.end(err)
	return context.Cause(j.ctx)
}

// queue returns the queue of a shard.
func (j *journaled) queue(shard int) *queue {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.queues[shard] == nil {
		j.queues[shard] = &queue{to: j, shard: shard}
	}
	return j.queues[shard]
}

// allQueues returns the queues of all shards.
func (j *journaled) allQueues() []*queue {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Collect(maps.Values(j.queues))
}

// flush publishes all samples and waits until they are sealed.
func (j *journaled) flush() error {
	for _, q := range j.allQueues() {
		if err := q.publish(nil); err != nil {
			return err
		}
	}
	return j.await(func() bool { return j.all == 0 && len(j.accounts) == 0 })
}

// await waits until ready returns true, which is called with mu held.
func (j *journaled) await(ready func() bool) error {
	for {
		j.mu.Lock()
		ok, changed := ready(), j.changed
		j.mu.Unlock()
		if ok {
			return context.Cause(j.ctx)
		}
		select {
		case <-changed:
		case <-j.ctx.Done():
			return context.Cause(j.ctx)
		}
	}
}

// notify wakes all goroutines in await. The caller holds mu.
func (j *journaled) notify() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// retry calls f until it succeeds, or patience has ended. Then the import ends.
func (j *journaled) retry(doing string, f func(ctx context.Context) error) error {
	err := retryFor(j.ctx, patience, j.final, func(err error) {
		j.log.Warn("an operation of the archive failed; the import tries it again", "doing", doing, "err", err)
	}, f)
	switch {
	case err == nil:
		return nil
	case j.ctx.Err() != nil:
		return context.Cause(j.ctx)
	}
	return j.fail(fmt.Errorf("%w: %s: %w", ErrArchive, doing, err))
}

// retryFor calls f until it succeeds, its error is final, ctx ends, or a time is over.
func retryFor(ctx context.Context, most time.Duration, final func(error) bool, failed func(error), f func(ctx context.Context) error) error {
	began := time.Now()
	for backoff := (retry.Backoff{Min: 200 * time.Millisecond, Max: 5 * time.Second}); ; {
		err := f(ctx)
		if err == nil || final(err) || time.Since(began) >= most || ctx.Err() != nil {
			return err
		}
		failed(err)
		if !backoff.Wait(ctx) {
			return err
		}
	}
}
