package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
)

// Batch is the largest number of samples of a batch.
const Batch = 64 << 10

// Options configure an Importer.
type Options struct {
	// Store is the archive. It may be nil in a dry run: there is no archive yet.
	Store store.Store
	// Shards is the number of shards of the archive.
	Shards int
	// Engines means that engines work in the archive, and seal the rows of the importer. Otherwise no other process may
	// write to the store.
	Engines bool
	// Final reports whether an error of the store will not go away if the importer tries again, such as a missing
	// permission. It may be nil.
	Final func(error) bool
	// DryRun stores nothing. The counts say what an import would store.
	DryRun bool
	// Since and Until bound the times of the samples to import, in ns since 1970: from Since up to, not
	// including, Until. If Until is 0, there is no end.
	Since, Until int64
	// Rate is the maximum number of samples per second that are read. 0 is no limit.
	Rate float64
	Log  *slog.Logger
}

// Importer imports PVs. Several goroutines may use it, for different PVs.
type Importer struct {
	// Progress counts what was read. It may be read at any time.
	Progress Progress

	opts   Options
	reader *query.Reader
	older  *query.Reader // of samples that no engine has in memory; it does not look through the rows of living engines
	now    func() int64  // ns since 1970
	seal   *seal.Config
	to     *journaled // nil without Options.Engines
	pace   pace
	cutoff int64 // the archive deleted samples before this time, in ns since 1970
}

// NewImporter returns an Importer, which works until ctx ends. The caller must close it.
func NewImporter(ctx context.Context, opts Options) (*Importer, error) {
	if opts.Until == 0 {
		opts.Until = math.MaxInt64
	}
	m := &Importer{opts: opts, pace: pace{rate: opts.Rate}, cutoff: math.MinInt64}
	if opts.Store == nil {
		return m, nil
	}
	c, found, err := opts.Store.Cutoff(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the deletion cutoff: %w", err)
	}
	if found {
		m.cutoff = c.Before
	}
	now := clock.New(clock.Config{})
	if st, has := opts.Store.(clock.Store); has {
		now.Use(st)
	}
	m.now = now.StoreTime
	m.reader = &query.Reader{Store: opts.Store, Shards: opts.Shards, Now: m.now}
	if m.older = m.reader; opts.Engines {
		m.older = &query.Reader{Store: endedOnly{opts.Store}, Shards: opts.Shards, Now: m.now}
		if !opts.DryRun {
			if m.to, err = newJournaled(ctx, &opts, m.now, &m.Progress.Waiting); err == nil {
				m.to.start()
			}
		}
		return m, err
	}
	m.seal = &seal.Config{
		Store: opts.Store, Memory: journal.NewMemory(1 << 30), Clock: now,
		Metrics: seal.NewMetrics(prometheus.NewRegistry()), Log: opts.Log,
		Last: func(ctx context.Context, pv string, at int64) (*sample.Run, error) {
			return query.LastInBlocks(ctx, opts.Store, pv, at)
		},
	}
	return m, nil
}

// Cutoff returns the time, in ns since 1970, before which the archive has deleted samples to make room.
// Samples before it are not imported. found is false if the archive has deleted none.
func (m *Importer) Cutoff() (before int64, found bool) { return m.cutoff, m.cutoff != math.MinInt64 }

// Prepare makes sure that the archive takes the samples of PVs. It returns the PVs in the order in which they should be
// imported.
func (m *Importer) Prepare(pvs []string) ([]string, error) {
	if m.to == nil {
		return pvs, nil
	}
	ordered, shards := byShard(pvs, m.opts.Shards)
	return ordered, m.to.awaitLeaders(shards)
}

// byShard orders PVs so that those of few shards are imported at a time: their segments become full, and readers of the
// other shards do not notice the import. It also returns the shards.
func byShard(pvs []string, shards int) (ordered []string, used []int) {
	const atATime = 4
	of := make([][]string, shards)
	for _, pv := range pvs {
		shard := pvname.Shard(pv, shards)
		of[shard] = append(of[shard], pv)
	}
	for shard := range of {
		if len(of[shard]) > 0 {
			used = append(used, shard)
		}
	}
	for some := range slices.Chunk(used, atATime) {
		for i, left := 0, true; left; i++ {
			left = false
			for _, shard := range some {
				if i < len(of[shard]) {
					ordered, left = append(ordered, of[shard][i]), true
				}
			}
		}
	}
	return ordered, used
}

// Import imports a PV of a source. The report is valid after an error, too: what it counts as stored
// is durable.
func (m *Importer) Import(ctx context.Context, src Source, pv string) (r *Report, err error) {
	finished := make(chan struct{})
	m.Begin(ctx, src, pv, func(of *Report, failed error) {
		r, err = of, failed
		close(finished)
	})
	_ = m.Finish() // which calls the function above
	<-finished
	return r, err
}

// Begin imports a PV of a source. It returns when all samples have been read. done is called with the report when they
// are stored, possibly later and in another goroutine. The report is valid after an error, too: what it counts as stored
// is durable.
func (m *Importer) Begin(ctx context.Context, src Source, pv string, done func(*Report, error)) {
	o := &one{Importer: m, name: pvname.Canonical(pv), report: &Report{PV: pvname.Canonical(pv)}, last: math.MinInt64}
	o.use = o.store
	err := o.prepare(ctx)
	if err == nil {
		err = o.read(ctx, src)
	}
	if err == nil && m.opts.DryRun && o.report.Stored > 0 {
		err = o.predict(ctx)
	}
	o.out.end(o.report, func(failed error) {
		if err = cmp.Or(err, failed); err != nil {
			o.report.Error = err.Error()
		}
		done(o.report, err)
	})
}

// Finish waits until all samples are stored, after the last call of Begin has returned. After an error, nothing else can
// be imported.
func (m *Importer) Finish() error {
	if m.to == nil {
		return nil
	}
	err := m.to.flush()
	if err != nil {
		m.to.close()
	}
	return err
}

// Close ends the work of the Importer.
func (m *Importer) Close() {
	if m.to != nil {
		m.to.close()
	}
}

// one is the import of one PV.
type one struct {
	*Importer
	name      string // canonical
	report    *Report
	out       output
	use       func(ctx context.Context, run *sample.Run) error // receives the samples of the source
	verifying bool                                             // nothing is stored
	known     bool                                             // the archive has samples of the PV from before the import
	last      int64                                            // time of the latest sample that was imported
	marks     []store.PVMark                                   // of the batch that is read
	states    ownStates                                        // of engines
	overruled int                                              // marks that were left out because of states
	metadata  *sample.Metadata                                 // that is not stored yet
	deleted   store.Mask                                       // ranges that users have deleted, with engines or in a dry run
}

// prepare finds out whether the archive may have samples of the PV, and where the new ones go.
func (o *one) prepare(ctx context.Context) (err error) {
	o.out = nowhere{}
	switch {
	case o.opts.Store == nil:
		return nil
	case o.opts.Engines: // which may store samples of the PV at any time
		o.known = true
	default:
		_, err = o.reader.Read(ctx, o.name, query.Latest, query.Latest, query.Options{Inside: true})
		if o.known = !errors.Is(err, query.ErrUnknownPV); !o.known {
			err = nil
		}
	}
	switch {
	case err != nil:
		return err
	case o.opts.DryRun:
		o.deleted, err = o.deletedRanges(ctx)
		return err
	}
	if err := o.readOwnStates(ctx); err != nil {
		return err
	}
	o.out, err = o.newOutput()
	return err
}

// deletedRanges returns the ranges that users have deleted.
func (o *one) deletedRanges(ctx context.Context) (store.Mask, error) {
	c, _, err := o.opts.Store.Channel(ctx, o.name)
	c.LeaveOutFuture(layout.MaxDeleted(o.now()))
	return c.Mask(), err
}

// predict returns the error with which an import would refuse the PV.
func (o *one) predict(ctx context.Context) error {
	if o.opts.Store == nil || o.opts.Engines {
		return nil
	}
	c, _, err := o.opts.Store.Channel(ctx, o.name)
	if err == nil && len(c.Levels) > 0 {
		err = fmt.Errorf("importing %s: %w", o.name, seal.ErrRollups)
	}
	return err
}
