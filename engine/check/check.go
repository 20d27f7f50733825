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

	"varve.dev/varve/engine/store"
)

// Store is what a check needs of a store.
type Store interface {
	Claims(ctx context.Context, shard int) ([]store.Claim, error)
	Journal(ctx context.Context, shard int, w store.WriterID, after store.Position) iter.Seq2[store.JournalRow, error]
	Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error]
	AddChannel(ctx context.Context, c store.Channel) error
	Channel(ctx context.Context, pv string) (c store.Channel, found bool, err error)
	Channels(ctx context.Context) iter.Seq2[store.Channel, error]
	Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error]
	Metadata(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMetadata, error]
	Cutoff(ctx context.Context) (f store.Cutoff, found bool, err error)
}

// Lister is a Store that can say where blocks stand whatever the directory says. Of
// one that can not, only those buckets are looked at that the directory allows.
type Lister interface {
	// PVs yields the names of all PVs that have blocks, marks, metadata or an entry in
	// the directory, each at least once.
	PVs(ctx context.Context) iter.Seq2[string, error]
	// Buckets yields the buckets in which a PV has blocks.
	Buckets(ctx context.Context, pv string) iter.Seq2[store.Bucket, error]
}

// Options of a check. Zero values mean the defaults named.
type Options struct {
	// Match says which PVs to look at; nil: all of them, and the journal too, which
	// belongs to no PV.
	Match func(pv string) bool
	// Shards is the number of shards of the archive; default 64. There may be as many
	// again, for PVs that two engines capture.
	Shards int
	// JournalTTL is how long the store keeps rows of the journal; 0: until they are
	// sealed.
	JournalTTL time.Duration
	// Rate bounds the bytes of rows that are read per second; 0: nothing does.
	Rate float64
	// Parallel is how many PVs are looked at at a time; default 4.
	Parallel int
	// Most is how many findings of each kind are kept; default 100. All are counted.
	Most int
	// Repair adds to the directory what it lacks of blocks that are there.
	Repair bool
	// Drop is called for each block whose blob does not decode, if it is not nil, to
	// take it out of the archive.
	Drop func(ctx context.Context, b store.Block) error
	// Progress is told, every ProgressEvery (default 5 s), how far the check is. It
	// may be nil.
	Progress      func(Progress)
	ProgressEvery time.Duration
	// Now is the clock for ages; default time.Now.
	Now func() time.Time
}

// Progress is how far a check is.
type Progress struct {
	// PVs that were looked at, of Total. Shards come last.
	PVs, Total int
	Bytes      int64
	Elapsed    time.Duration
}

// ErrAway is wrapped by the error of a check that ended because the store did not
// answer any more.
var ErrAway = errors.New("the store does not answer")

// Run checks an archive. It returns an error if it could not come to the end; the
// report then says what was found so far.
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
	stop := c.tell()
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
	failed      atomic.Int64 // reads given up, one after the other

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
			c.twice(gctx, pv, (*look).channel)
			c.done.Add(1)
			return gctx.Err()
		})
	}
	if err := g.Wait(); err != nil || c.opts.Match != nil {
		return err
	}
	for shard := range 2 * c.opts.Shards {
		c.twice(ctx, "", func(l *look) { l.journal(shard) })
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// names returns the PVs to look at.
func (c *checker) names(ctx context.Context) ([]string, error) {
	match := c.opts.Match
	if match == nil {
		match = func(string) bool { return true }
	}
	var pvs []string
	seen := map[string]struct{}{}
	add := func(pv string) {
		if _, known := seen[pv]; !known && match(pv) {
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

// twice looks at a PV, or at a shard, and if that finds something looks again: see
// the package comment. What a look has seen counts only if it came to its end.
func (c *checker) twice(ctx context.Context, pv string, f func(*look)) {
	for try := range 2 {
		l := &look{checker: c, ctx: ctx, pv: pv, now: c.opts.Now().UnixNano(), last: try == 1}
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

// look is one look at a PV or a shard.
type look struct {
	*checker
	ctx  context.Context
	pv   string
	now  int64
	last bool // what it finds counts, and may be repaired
	seen Report

	dir            store.Channel
	held           map[store.Bucket]struct{} // buckets that hold blocks
	extents        []extent
	carriedForward []carriedForward
	unlisted       store.Channel // what the directory lacks
}

func (l *look) found(kind Kind, where, format string, args ...any) {
	l.seen.found(Finding{Kind: kind, PV: l.pv, Where: where, Text: fmt.Sprintf(format, args...)}, l.opts.Most)
}

func (l *look) repaired(kind Kind, where, format string, args ...any) {
	l.seen.found(Finding{Kind: kind, PV: l.pv, Where: where, Text: fmt.Sprintf(format, args...), Repaired: true}, l.opts.Most)
}

// tell reports progress until stop is called.
func (c *checker) tell() (stop func()) {
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
