package check

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/names"
	"varve.dev/varve/engine/store"
)

// Store is the part of a store that a check uses.
type Store interface {
	Claims(ctx context.Context, shard int) ([]store.Claim, error)
	Journal(ctx context.Context, shard int, w store.WriterID, after, through store.Position) iter.Seq2[store.JournalRow, error]
	Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error]
	AddChannel(ctx context.Context, c store.Channel) error
	Channel(ctx context.Context, pv string) (c store.Channel, found bool, err error)
	Channels(ctx context.Context) iter.Seq2[store.Channel, error]
	Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error]
	Metadata(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMetadata, error]
	Cutoff(ctx context.Context) (f store.Cutoff, found bool, err error)
}

// Lister is a Store that can list blocks without the directory. In other stores, a check
// finds only blocks in buckets that the directory lists.
type Lister interface {
	// PVs yields the names of all PVs with blocks, marks, metadata or a directory entry,
	// each at least once.
	PVs(ctx context.Context) iter.Seq2[string, error]
	// Buckets yields the buckets in which a PV has blocks.
	Buckets(ctx context.Context, pv string) iter.Seq2[store.Bucket, error]
}

// Mender is a Store that can remove the elements of a directory entry that cannot be read.
type Mender interface {
	DropDamaged(ctx context.Context, pv string) error
}

// Options are the options of a check. Zero values mean the defaults.
type Options struct {
	// Match selects the PVs to check. Nil means all PVs and the journal.
	Match func(pv string) bool
	// Shards is the number of shards of the archive; default 64. The check also reads the same
	// number of further shards, which are for PVs that two engines capture.
	Shards int
	// JournalTTL is how long the store keeps journal rows; 0 means until they are sealed.
	JournalTTL time.Duration
	// Rate limits the bytes of rows that are read per second; 0 means no limit.
	Rate float64
	// Parallel is the number of PVs that are checked at a time; default 4.
	Parallel int
	// Most is the number of findings of each kind that the report keeps; default 100. The
	// report counts all of them.
	Most int
	// Repair adds unlisted blocks to the directory, and removes elements of it that cannot be read.
	Repair bool
	// Drop, if not nil, is called for each block whose blob does not decode. It removes
	// the block from the archive.
	Drop func(ctx context.Context, b store.Block) error
	// Progress, if not nil, is called every ProgressEvery.
	Progress func(Progress)
	// ProgressEvery is the interval of calls of Progress; default 5 s.
	ProgressEvery time.Duration
	// Now is the clock for ages; default time.Now.
	Now func() time.Time
}

// Progress is the progress of a check.
type Progress struct {
	// PVs is the number of PVs checked, out of Total. Shards come last.
	PVs, Total int
	Bytes      int64
	Elapsed    time.Duration
}

// ErrStoreGone is wrapped by the error of a check that ended because the store no longer
// answers.
var ErrStoreGone = errors.New("the store does not answer")

// Run checks an archive. If it returns an error, the check is incomplete, and the report
// has the findings so far.
func Run(ctx context.Context, st Store, opts Options) (Report, error) {
	setDefault(&opts.Shards, 64)
	setDefault(&opts.Parallel, 4)
	setDefault(&opts.Most, 100)
	setDefault(&opts.ProgressEvery, 5*time.Second)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	c := &checker{store: st, opts: opts, started: time.Now(), abort: abort}
	c.report.Counts = map[Kind]int{}
	stop := c.reportProgress()
	defer stop()
	err := c.run(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Complete = err == nil
	return c.report, err
}

func setDefault[T comparable](v *T, def T) {
	if *v == *new(T) {
		*v = def
	}
}

// checker is one check.
type checker struct {
	store   Store
	opts    Options
	started time.Time
	abort   context.CancelCauseFunc
	pace    pace

	total, done atomic.Int64 // PVs
	bytes       atomic.Int64
	failed      atomic.Int64 // failed reads in a row

	mu     sync.Mutex
	report Report
}

func (c *checker) run(ctx context.Context) error {
	switch f, found, err := c.store.Cutoff(ctx); {
	case err != nil:
		return err
	case found:
		c.report.GivenUp = &GivenUp{Before: time.Unix(0, f.Before).UTC(), At: time.Unix(0, f.At).UTC(), Size: f.Size, Limit: f.Limit}
	}
	pvs, err := c.names(ctx)
	if err != nil {
		return fmt.Errorf("reading the names of the PVs: %w", err)
	}
	c.total.Store(int64(len(pvs)))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(c.opts.Parallel)
	for _, pv := range pvs {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			c.checkTwice(gctx, pv, (*pass).channel)
			c.done.Add(1)
			return gctx.Err()
		})
	}
	if err := g.Wait(); err != nil || c.opts.Match != nil {
		return err
	}
	for shard := range 2 * c.opts.Shards {
		c.checkTwice(ctx, "", func(l *pass) { l.journal(shard) })
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// names returns the names of the PVs to check.
func (c *checker) names(ctx context.Context) ([]string, error) {
	match := c.opts.Match
	if match == nil {
		match = func(string) bool { return true }
	}
	var pvs []string
	seen := map[string]struct{}{}
	add := func(pv string) {
		if _, known := seen[pv]; !known && pv != names.Register && match(pv) {
			seen[pv] = struct{}{}
			pvs = append(pvs, pv)
		}
	}
	if lister, ok := c.store.(Lister); ok {
		for pv, err := range lister.PVs(ctx) {
			if err != nil {
				return nil, err
			}
			add(pv)
		}
		return pvs, nil
	}
	for ch, err := range c.store.Channels(ctx) {
		if err != nil {
			return nil, err
		}
		add(ch.PV)
	}
	return pvs, nil
}

// checkTwice makes a pass over a PV or a shard, and a second one if the first finds a
// problem: see the package comment. The report includes only the last pass.
func (c *checker) checkTwice(ctx context.Context, pv string, f func(*pass)) {
	for try := range 2 {
		l := &pass{checker: c, ctx: ctx, pv: pv, now: c.opts.Now().UnixNano(), last: try == 1}
		f(l)
		if ctx.Err() != nil && l.seen.Problems() == 0 {
			return
		}
		if l.last || l.seen.Problems() == 0 {
			c.mu.Lock()
			c.report.add(&l.seen, c.opts.Most)
			c.mu.Unlock()
			return
		}
	}
}

// pass is one pass over a PV or a shard.
type pass struct {
	*checker
	ctx  context.Context
	pv   string
	now  int64
	last bool // findings count, and may be repaired
	seen Report

	dir            store.Channel
	held           map[store.Bucket]struct{} // buckets that hold blocks
	extents        []extent
	carriedForward []carriedForward
	unlisted       store.Channel // what is missing from the directory
}

func (l *pass) found(kind Kind, where, format string, args ...any) {
	l.seen.found(Finding{Kind: kind, PV: l.pv, Where: where, Text: fmt.Sprintf(format, args...)}, l.opts.Most)
}

func (l *pass) repaired(kind Kind, where, format string, args ...any) {
	l.seen.found(Finding{Kind: kind, PV: l.pv, Where: where, Text: fmt.Sprintf(format, args...), Repaired: true}, l.opts.Most)
}

// reportProgress calls Options.Progress until the caller calls stop.
func (c *checker) reportProgress() (stop func()) {
	if c.opts.Progress == nil {
		return func() {}
	}
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(c.opts.ProgressEvery)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				c.opts.Progress(Progress{
					PVs: int(c.done.Load()), Total: int(c.total.Load()), Bytes: c.bytes.Load(), Elapsed: time.Since(c.started),
				})
			}
		}
	})
	return func() { close(end); wg.Wait() }
}
