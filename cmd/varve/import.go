package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/store/pebble"
)

func newImport() *cobra.Command {
	cmd := &cobra.Command{Use: "import", Short: "Import the samples of another archive", Args: cobra.NoArgs}
	cmd.AddCommand(newImportData())
	return cmd
}

// importOptions are the flags of `varve import data`.
type importOptions struct {
	from   string
	dir    string // of the archive
	pv     string
	shards int
	dryRun bool
	report string
}

func newImportData() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "data --from appliance-files DIR",
		Short: "Import the samples of an Archiver Appliance",
		Long: `Reads the PB files of an Archiver Appliance and stores their samples. DIR is the
directory of one of its stores, or of all of them; the Appliance may be running.

Stop the archiver first. An archive in Cassandra cannot be the target yet, nor a PV for
which the archive has rollups already: import it before the archiver captures it.

Every sample that was read is stored, was in the archive before, or is older than the
retention of its PV. What cannot be read is named by file and offset, and counted as
damaged. So is the last line of a file that is being written; import the file again later.

An import can be interrupted at any moment, and repeated: it stores only what the
archive lacks. With --dry-run it stores nothing, and says what it would store. After an
import, a dry run that would store 0 samples verifies that the archive has them all.

Exit codes: 0 all is imported, 1 a part could not be read or stored, 2 the import failed.`,
		Example: `  varve import data --from appliance-files /arch/lts --data /var/lib/varve --report report.json
  varve import data --from appliance-files /arch --data /var/lib/varve --pv 'SR01:*' --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, exitFailed} })
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "kind of the source: appliance-files (required)")
	f.StringVar(&o.dir, "data", "varve-data", "directory of the archive; it is created if it does not exist")
	f.StringVar(&o.pv, "pv", "*", "import only these PVs: a name or a pattern with * and ?")
	f.IntVar(&o.shards, "shards", 64, "number of shards of the archive")
	f.BoolVar(&o.dryRun, "dry-run", false, "store nothing, and say what would be stored")
	f.StringVar(&o.report, "report", "", "write a report of each PV to this file, as lines of JSON")
	_ = cmd.MarkFlagRequired("from")
	return cmd
}

func (o *importOptions) run(cmd *cobra.Command, dir string) error {
	damaged, err := o.importFiles(cmd, dir)
	switch {
	case err != nil:
		return exitError{err, exitFailed}
	case damaged > 0:
		return exitError{fmt.Errorf("%d lines or files could not be read or stored", damaged), exitProblems}
	}
	return nil
}

func (o *importOptions) check(dir string) error {
	if o.from != "appliance-files" {
		return fmt.Errorf("--from: %q is not appliance-files", o.from)
	}
	if o.shards < 1 || o.shards > 4096 {
		return fmt.Errorf("--shards: %d is not between 1 and 4096", o.shards)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not a directory with files of an Archiver Appliance", dir)
	}
	return nil
}

// importFiles returns how many lines, files and PVs could not be imported.
func (o *importOptions) importFiles(cmd *cobra.Command, dir string) (damaged uint64, err error) {
	if err := o.check(dir); err != nil {
		return 0, err
	}
	ctx, errs := cmd.Context(), cmd.ErrOrStderr()
	tree, err := migration.Scan(ctx, dir, request.Glob(o.pv))
	if err != nil {
		return 0, err
	}
	for _, s := range tree.Skipped {
		fmt.Fprintf(errs, "%s: skipped: %s\n", s.Path, s.Reason)
	}
	if len(tree.Files) == 0 {
		return 0, fmt.Errorf("%s has no files of PVs that match %q", dir, o.pv)
	}
	out, err := newReportFile(o.report)
	if err != nil {
		return 0, fmt.Errorf("--report: %w", err)
	}
	st, err := pebble.Open(o.dir, pebble.Options{})
	if err != nil {
		return 0, errors.Join(fmt.Errorf("--data: %w", err), out.Close())
	}
	m := migration.NewImporter(migration.Options{Store: st, Shards: o.shards, DryRun: o.dryRun, Log: slog.New(slog.NewTextHandler(errs, nil))})
	p := &importProgress{errs: errs, out: out, began: time.Now(), pvs: len(tree.Files)}
	importAll(ctx, m, tree, p)
	if err := errors.Join(ctx.Err(), p.failed, st.Close(), out.Close()); err != nil {
		return 0, fmt.Errorf("the import is incomplete; repeat it to continue: %w", err)
	}
	return p.print(cmd.OutOrStdout(), uint64(len(tree.Skipped)), o.dryRun)
}

// importAll imports all PVs of a tree, one for each processor at a time.
func importAll(ctx context.Context, m *migration.Importer, tree *migration.Tree, p *importProgress) {
	pvs := make(chan string)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for pv := range pvs {
				r, err := m.Import(ctx, pv, tree.Files[pv])
				p.add(r, err)
			}
		})
	}
	defer workers.Wait()
	defer close(pvs)
	for _, pv := range slices.Sorted(maps.Keys(tree.Files)) {
		select {
		case pvs <- pv:
		case <-ctx.Done():
			return
		}
	}
}

// newReportFile creates a file, or returns a writer that drops everything if there is no name.
func newReportFile(name string) (io.WriteCloser, error) {
	if name == "" {
		return nopCloser{io.Discard}, nil
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// importProgress sums up the reports of the PVs, and prints progress every five seconds.
type importProgress struct {
	errs         io.Writer
	out          io.Writer
	began, shown time.Time
	pvs          int

	mu     sync.Mutex
	done   int
	ended  int // PVs whose import ended early
	total  migration.Report
	failed error
}

func (p *importProgress) add(r *migration.Report, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if err != nil {
		p.ended++
		fmt.Fprintf(p.errs, "%s: %v\n", r.PV, err)
	}
	t := &p.total
	t.Read, t.Stored, t.Present = t.Read+r.Read, t.Stored+r.Stored, t.Present+r.Present
	t.Expired, t.Damaged = t.Expired+r.Expired, t.Damaged+r.Damaged
	for _, bad := range r.Problems {
		fmt.Fprintf(p.errs, "%s: byte %d: %s\n", bad.File, bad.Offset, bad.Reason)
	}
	if err := json.NewEncoder(p.out).Encode(r); err != nil && p.failed == nil {
		p.failed = fmt.Errorf("writing the report: %w", err)
	}
	if time.Since(p.shown) < 5*time.Second {
		return
	}
	p.shown = time.Now()
	took := time.Since(p.began)
	left := time.Duration(float64(took) / float64(p.done) * float64(p.pvs-p.done))
	fmt.Fprintf(p.errs, "%d of %d PVs, %d samples read, %.0f samples/s, about %v left\n",
		p.done, p.pvs, t.Read, float64(t.Read)/took.Seconds(), left.Round(time.Second))
}

// print prints the sums. It returns how much could not be imported.
func (p *importProgress) print(w io.Writer, skipped uint64, dryRun bool) (damaged uint64, err error) {
	verb := "stored"
	if dryRun {
		verb = "to be stored"
	}
	t := &p.total
	_, err = fmt.Fprintf(w, "%d PVs: %d samples read, %d %s, %d in the archive before, %d older than their retention; %d lines damaged, %d files skipped, %d PVs incomplete; %.1f s\n",
		p.done, t.Read, t.Stored, verb, t.Present, t.Expired, t.Damaged, skipped, p.ended, time.Since(p.began).Seconds())
	return t.Damaged + skipped + uint64(p.ended), err
}
