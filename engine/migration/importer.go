package migration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/pbfile"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
)

// batch is the number of samples that are stored at once.
const batch = 64 << 10

// Options configure an Importer.
type Options struct {
	Store store.Store
	// Shards is the number of shards of the archive.
	Shards int
	// DryRun stores nothing. The counts say what an import would store.
	DryRun bool
	Log    *slog.Logger
}

// Importer imports PVs. Several goroutines may use it, for different PVs.
type Importer struct {
	opts   Options
	reader *query.Reader
	seal   *seal.Config
}

// NewImporter returns an Importer. No other process may write to the store meanwhile.
func NewImporter(opts Options) *Importer {
	return &Importer{
		opts:   opts,
		reader: &query.Reader{Store: opts.Store, Shards: opts.Shards},
		seal: &seal.Config{
			Store: opts.Store, Memory: journal.NewMemory(1 << 30), Clock: clock.New(clock.Config{}),
			Metrics: seal.NewMetrics(prometheus.NewRegistry()), Log: opts.Log,
			Last: func(ctx context.Context, pv string, at int64) (*sample.Run, error) {
				return query.LastInBlocks(ctx, opts.Store, pv, at)
			},
		},
	}
}

// one is the import of one PV.
type one struct {
	*Importer
	name   string // canonical
	report *Report
	out    *seal.Importer
	known  bool           // the archive has samples of the PV from before the import
	last   int64          // time of the latest sample that was imported
	marks  []store.PVMark // of the batch that is read
}

// Import imports the files of a PV, which must be in order of time. The report is valid after an
// error, too: what it counts as stored is durable.
func (m *Importer) Import(ctx context.Context, pv string, files []File) (*Report, error) {
	report := &Report{PV: pvname.Canonical(pv)}
	known, err := m.isKnown(ctx, report.PV)
	if err == nil {
		o := &one{Importer: m, name: report.PV, report: report, known: known, last: math.MinInt64}
		o.out = seal.NewImporter(o.name, pvname.Shard(o.name, m.opts.Shards), known, m.seal)
		defer o.out.Close()
		for _, f := range files {
			if err = o.file(ctx, &f); err != nil {
				break
			}
		}
	}
	if err != nil {
		report.Error = err.Error()
	}
	return report, err
}

// isKnown reports whether the archive may have samples of a PV.
func (m *Importer) isKnown(ctx context.Context, pv string) (bool, error) {
	_, err := m.reader.Read(ctx, pv, query.Latest, query.Latest, query.Options{Inside: true})
	if errors.Is(err, query.ErrUnknownPV) {
		return false, nil
	}
	return true, err
}

// file imports a file. An error ends the import of the PV; what is damaged in the file does not.
func (o *one) file(ctx context.Context, f *File) error {
	in, err := os.Open(f.Path)
	if err != nil {
		o.report.problem(f.Path, 0, err)
		return nil
	}
	defer in.Close()
	r := pbfile.NewReader(in)
	r.Within = f.Name.Partition
	r.Problem = func(p pbfile.Problem) { o.report.problem(f.Path, p.Offset, p.Err) }
	r.Change = o.change
	h, err := r.Header()
	if err != nil {
		o.report.problem(f.Path, 0, err)
		return nil
	}
	if h.Type == sample.Unknown {
		return r.Skip(fmt.Errorf("samples of payload type %d are not supported", h.Payload))
	}
	for run := (&sample.Run{Type: h.Type}); ; run.Reset(h.Type) {
		at, err := r.Offset(), r.Read(run, batch)
		if run.Len() > 0 {
			if err := o.store(ctx, run); err != nil {
				return err
			}
			if err := o.putMarks(ctx); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return ctx.Err()
		case err != nil: // the disk fails, or a line is empty
			o.report.problem(f.Path, at, err)
			return ctx.Err()
		}
	}
}

// store stores the samples of a run that the archive does not have.
func (o *one) store(ctx context.Context, run *sample.Run) error {
	run.Normalize()
	o.report.count(run)
	n, last := run.Len(), run.Times[run.Len()-1]
	if o.known || run.Times[0] <= o.last {
		if err := o.dropPresent(ctx, run); err != nil {
			return err
		}
	}
	o.last = max(o.last, last)
	o.report.Present += uint64(n - run.Len())
	if run.Len() == 0 || o.opts.DryRun {
		o.report.Stored += uint64(run.Len())
		return nil
	}
	n = run.Len()
	expired, err := o.out.Store(ctx, run.Clone())
	if err != nil {
		return err
	}
	o.report.Expired += uint64(expired)
	o.report.Stored += uint64(n - expired)
	return nil
}

// dropPresent drops the samples of a run that the archive has. The run is sorted.
func (o *one) dropPresent(ctx context.Context, run *sample.Run) error {
	has, err := o.reader.Read(ctx, o.name, run.Times[0], run.Times[run.Len()-1], query.Options{Inside: true})
	if errors.Is(err, query.ErrUnknownPV) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", o.name, err)
	}
	present := make([]bool, run.Len())
	next := 0
	for r, err := range has.All {
		if err != nil {
			return fmt.Errorf("reading %s: %w", o.name, err)
		}
		if r.Type == run.Type {
			next = markPresent(present, run, r, next)
		}
	}
	rest := &sample.Run{Type: run.Type}
	for from := 0; from < run.Len(); {
		to := from
		for to < run.Len() && !present[to] {
			to++
		}
		rest.AppendRange(run, from, to)
		from = to + 1
	}
	*run = *rest
	return nil
}

// markPresent marks the samples of a run that another run of the same type has. Both are sorted. It
// begins at sample next of run, and returns where the next run of the archive may continue.
func markPresent(present []bool, run, r *sample.Run, next int) int {
	for i := range r.Len() {
		for next < run.Len() && run.Times[next] < r.Times[i] {
			next++
		}
		has := r.At(i)
		for k := next; k < run.Len() && run.Times[k] == has.Time; k++ {
			if s := run.At(k); s.Same(&has) {
				present[k] = true
			}
		}
	}
	return next
}
