package migration

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/journal"
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
	seal   *seal.Config
	pace   pace
	cutoff int64 // the archive deleted samples before this time, in ns since 1970
}

// NewImporter returns an Importer. No other process may write to the store meanwhile.
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
	m.reader = &query.Reader{Store: opts.Store, Shards: opts.Shards, Now: now.StoreTime}
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

// one is the import of one PV.
type one struct {
	*Importer
	name      string // canonical
	report    *Report
	out       *seal.Importer
	use       func(ctx context.Context, run *sample.Run) error // receives the samples of the source
	verifying bool                                             // nothing is stored
	known     bool                                             // the archive has samples of the PV from before the import
	last      int64                                            // time of the latest sample that was imported
	marks     []store.PVMark                                   // of the batch that is read
	metadata  *sample.Metadata                                 // that is not stored yet
}

// Import imports a PV of a source. The report is valid after an error, too: what it counts as stored
// is durable.
func (m *Importer) Import(ctx context.Context, src Source, pv string) (*Report, error) {
	o := &one{Importer: m, name: pvname.Canonical(pv), report: &Report{PV: pvname.Canonical(pv)}, last: math.MinInt64}
	o.use = o.store
	err := o.prepare(ctx)
	if err == nil && !m.opts.DryRun {
		o.out = seal.NewImporter(o.name, pvname.Shard(o.name, m.opts.Shards), o.known, m.seal)
		defer o.out.Close()
	}
	if err == nil {
		err = o.read(ctx, src)
	}
	if err == nil && m.opts.DryRun && o.report.Stored > 0 {
		err = o.predict(ctx)
	}
	if err != nil {
		o.report.Error = err.Error()
	}
	return o.report, err
}

// prepare finds out whether the archive may have samples of the PV.
func (o *one) prepare(ctx context.Context) error {
	if o.opts.Store == nil {
		return nil
	}
	_, err := o.reader.Read(ctx, o.name, query.Latest, query.Latest, query.Options{Inside: true})
	if errors.Is(err, query.ErrUnknownPV) {
		return nil
	}
	o.known = true
	return err
}

// predict returns the error with which an import would refuse the PV.
func (o *one) predict(ctx context.Context) error {
	if o.opts.Store == nil {
		return nil
	}
	c, _, err := o.opts.Store.Channel(ctx, o.name)
	if err == nil && len(c.Levels) > 0 {
		err = fmt.Errorf("importing %s: %w", o.name, seal.ErrRollups)
	}
	return err
}
