package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/check"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/store"
)

// VerifyOptions are the options of Verify.
type VerifyOptions struct {
	// Deep also decodes the samples of blocks and journal rows, and the bins of rollups.
	Deep bool
	// Parallel is the number of packs that are read at a time; default 4.
	Parallel int
	// Progress, if not nil, is updated.
	Progress *Progress
}

// Report is the result of a verification.
type Report struct {
	// Problems describes packs that are missing or damaged, and rows that do not decode. Count is how many there are;
	// some may not be described.
	Problems []string `json:"problems,omitempty"`
	Count    int      `json:"count"`

	mu sync.Mutex
}

// maxReported is the number of problems that a report describes.
const maxReported = 100

func (r *Report) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Count++; len(r.Problems) < maxReported {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// Verify reads all packs of a backup, and compares them with the manifest. An error means that the verification is
// incomplete.
func Verify(ctx context.Context, d Destination, name string, opts VerifyOptions) (*Manifest, *Report, error) {
	if opts.Parallel == 0 {
		opts.Parallel = 4
	}
	if opts.Progress == nil {
		opts.Progress = new(Progress)
	}
	if err := CheckDestination(ctx, d); err != nil {
		return nil, nil, err
	}
	m, err := Read(ctx, d, name)
	if err != nil {
		return nil, nil, err
	}
	report := new(Report)
	opts.Progress.TotalPacks.Store(int64(len(m.Packs)))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(opts.Parallel)
	for i := range m.Packs {
		g.Go(func() error { return verifyPack(gctx, d, &m.Packs[i], &opts, report) })
	}
	return m, report, g.Wait()
}

// verifyPack adds what is wrong with a pack to the report. It returns an error if the destination cannot be read.
func verifyPack(ctx context.Context, d Destination, p *Pack, opts *VerifyOptions, report *Report) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := readPack(ctx, d, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		report.add("%s is missing", p.object())
		err = nil
	case errors.Is(err, errDamagedPack):
		report.add("%v", err)
		err = nil
	case err == nil:
		verifyRows(p, data, opts.Deep, report)
	}
	opts.Progress.Packs.Add(1)
	opts.Progress.Bytes.Add(int64(len(data)))
	return err
}

func verifyRows(p *Pack, data []byte, deep bool, report *Report) {
	found := counts{}
	for row, err := range rows(data) {
		if err != nil {
			report.add("%s: %v", p.object(), err)
			return
		}
		found[kindNames[kindOf(row)]]++
		if !deep {
			continue
		}
		if err := decodeSamples(row); err != nil {
			report.add("%s: %v", p.object(), err)
		}
	}
	if !maps.Equal(found, p.Rows) {
		report.add("%s has the rows %v, and the manifest says %v", p.object(), found, p.Rows)
	}
}

// decodeSamples decodes the samples or the bins of a row.
func decodeSamples(row any) error {
	switch r := row.(type) {
	case *store.Block:
		if err := check.Block(r); err != nil {
			return fmt.Errorf("a block of %s: %w", r.PV, err)
		}
	case *store.JournalRow:
		if _, err := journal.Decode(*r); err != nil {
			return fmt.Errorf("row %d/%d of writer %v in shard %d: %w", r.At.N(), r.At.Seq(), r.Writer, r.Shard, err)
		}
	case *store.Rollup:
		if err := rollup.Decode(new(rollup.Tile), r); err != nil {
			return fmt.Errorf("tile %d of level %v of %s: %w", r.Tile, r.Level, r.PV, err)
		}
	}
	return nil
}
