package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/moment"
)

func newImport() *cobra.Command {
	cmd := &cobra.Command{Use: "import", Short: "Import the PVs and the samples of another archiver", Args: cobra.NoArgs}
	cmd.AddCommand(newImportConfig(), newImportData(), newImportJob())
	return cmd
}

// importOptions are the flags of `varve import data`.
type importOptions struct {
	from         string
	storage      storageOptions // of the archive
	pvs          pvSelection
	since, until string
	shards       int
	rate         float64
	rateGiven    bool
	dryRun       bool
	verify       bool
	report       string
	rdb          rdbOptions
	remote       remoteOptions
	csv          csvOptions
}

const importDataHelp = `Reads the samples of another archiver and stores them. It only reads from the source,
which may be running. KIND and SOURCE are

  appliance-files DIR   the PB files of an Archiver Appliance. DIR is the directory of one of
                        its stores, or of all of them. Symbolic links are followed, and each
                        directory is read once.
  rdb URL               the tables of an RDB archiver of CS-Studio or Phoebus, in PostgreSQL
                        (postgres://USER@HOST/DATABASE) or MySQL and MariaDB
                        (mysql://USER@HOST/DATABASE).
  appliance-http URL    an Archiver Appliance, or a Varve, over HTTP. URL is the address of its
                        retrieval, such as http://appliance:17668/retrieval. The samples of a
                        PV are requested by month, or by year where there are few of them.
  cassandra-archiver HOST[:PORT],…
                        the raw samples in the tables of a Cassandra PV Archiver 3.
  csv FILE|DIR          CSV, also with the extension .gz: a file for each PV, or a column with
                        the names of the PVs. The columns are pv, time, value, severity and
                        status (or alarm for both), and type. A file without the column pv has
                        the name of its PV, with %3A for a colon.
  channel-archiver FILE|DIR
                        the text that ArchiveExport of the Channel Archiver writes, with the
                        samples of one channel in each file.

If the archive is in a directory (--data), stop Varve first. The import refuses a PV that
already has rollups in the archive, so import a PV before Varve captures it.

If the archive is in Cassandra (--cassandra), its engines must be running. They seal the
samples that the import writes to the journal, and may capture the same PVs meanwhile. The
tables must exist. The import waits while the engines have much to seal, and reads at most
100,000 samples per second, unless --rate is set. A Job in the cluster can do this: see
varve import job.

Every sample that was read is stored, was in the archive before, is older than the
retention of its PV, is in a deleted range, is from before the archive's deletion cutoff,
or is outside of --since and --until. The import names the lines, rows and ranges that it
cannot read, and counts them as damaged. It also counts the last line of a file that is being
written: import the file again later.

You can interrupt an import at any moment and repeat it: it stores only the samples that the
archive lacks. Ctrl-C ends it after the current batches. Samples that it counts as stored
are durable. With --dry-run it stores nothing, and says which samples it would store. With
--verify it reads the source again, and compares each sample with the sample that the
archive returns; the report has counts and hashes by month.

Exit codes: 0 everything is imported, 1 a part could not be read or stored, or differs, 2
the import failed or was interrupted.`

func newImportData() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "data --from KIND SOURCE",
		Short: "Import the samples of another archiver",
		Long:  importDataHelp,
		Example: `  varve import data --from appliance-files /arch --data /var/lib/varve --dry-run
  varve import data --from appliance-files /arch --data /var/lib/varve --verify --report report.json
  varve import data --from appliance-files /arch/lts --data /var/lib/varve --pv 'SR01:*' --since 2024-01-01
  varve import data --from appliance-files /arch --data /var/lib/varve --pvs names.txt --rate 200000
  varve import data --from appliance-files /arch --cassandra cas-1,cas-2 --cassandra-credentials /etc/varve/role --verify
  varve import data --from rdb postgres://report@db/archive --password-file pw --data /var/lib/varve --verify
  varve import data --from appliance-http http://appliance:17668/retrieval --data /var/lib/varve --pvs names.txt
  varve import data --from cassandra-archiver cassandra1,cassandra2 --data /var/lib/varve --verify
  varve import data --from csv files --csv-time seconds --csv-columns time=t,value=v --data /var/lib/varve
  varve import data --from channel-archiver export --zone America/Denver --data /var/lib/varve`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, exitFailed} })
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "kind of the source: appliance-files, appliance-http, rdb, cassandra-archiver, csv or channel-archiver (required)")
	o.storage.add(f)
	f.Lookup("data").Usage = "directory of the archive; it is created if it does not exist, except by --dry-run"
	f.StringVar(&o.pvs.pattern, "pv", "*", "import only these PVs: a name or a pattern with * and ?")
	f.StringVar(&o.pvs.file, "pvs", "", "import only the PVs in this file: a name or a pattern in each line")
	f.StringVar(&o.since, "since", "", "import only samples at or after this time, such as 2024-01-01 or -2y")
	f.StringVar(&o.until, "until", "", "import only samples before this time")
	f.IntVar(&o.shards, "shards", 64, "number of shards of the archive")
	f.Float64Var(&o.rate, "rate", 0, "maximum number of samples read per second; 0 is no limit (default: 100000 into Cassandra, no limit into a directory)")
	f.BoolVar(&o.dryRun, "dry-run", false, "store nothing, and say what would be stored")
	f.BoolVar(&o.verify, "verify", false, "after the import, compare each sample of the source with the archive")
	f.StringVar(&o.report, "report", "", "write a report of each PV to this file, as lines of JSON")
	o.rdb.addFlags(f)
	o.remote.addFlags(f)
	o.csv.addFlags(f)
	_ = cmd.MarkFlagRequired("from")
	return cmd
}

func (o *importOptions) run(cmd *cobra.Command, from string) error {
	o.rateGiven = cmd.Flags().Changed("rate")
	damaged, err := o.importFrom(cmd, from)
	switch {
	case err != nil:
		return exitError{err, exitFailed}
	case damaged > 0:
		return exitError{fmt.Errorf("%d problems: lines, rows, files or PVs were not imported, or months differ; the output above names them", damaged), exitProblems}
	}
	return nil
}

func (o *importOptions) check() error {
	if err := o.checkSource(); err != nil {
		return err
	}
	switch {
	case o.shards < 1 || o.shards > 4096:
		return fmt.Errorf("--shards: %d is not between 1 and 4096", o.shards)
	case !(o.rate >= 0 && o.rate <= 1e12):
		return fmt.Errorf("--rate: %v is not between 0 and 1e12 samples/s", o.rate)
	case o.dryRun && o.verify:
		return errors.New("--dry-run and --verify cannot be combined: a dry run stores nothing that could be verified")
	}
	return o.storage.check()
}

// times returns the bounds of the samples to import, in ns since 1970. until is 0 if there is no end.
func (o *importOptions) times() (since, until int64, err error) {
	p := moment.Parser{Now: time.Now(), Zone: time.Local}
	since = math.MinInt64
	if o.since != "" {
		at, err := p.Parse(o.since)
		if err != nil {
			return 0, 0, fmt.Errorf("--since: %w", err)
		}
		since = at.UnixNano()
	}
	if o.until != "" {
		at, err := p.Parse(o.until)
		if err != nil {
			return 0, 0, fmt.Errorf("--until: %w", err)
		}
		if until = at.UnixNano(); until <= max(since, 0) {
			return 0, 0, fmt.Errorf("--until: %s is not after --since, or not after 1970", o.until)
		}
	}
	return since, until, nil
}

// importFrom returns how many lines, rows, files and PVs could not be imported, or differ.
func (o *importOptions) importFrom(cmd *cobra.Command, from string) (damaged uint64, err error) {
	if err := o.check(); err != nil {
		return 0, err
	}
	since, until, err := o.times()
	if err != nil {
		return 0, err
	}
	want, err := o.pvs.matcher()
	if err != nil {
		return 0, err
	}
	ctx, errs := cmd.Context(), cmd.ErrOrStderr()
	src, err := o.source(ctx, from, want)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	for _, s := range src.skipped {
		fmt.Fprintf(errs, "%s: skipped: %s\n", s.Path, s.Reason)
	}
	pvs := src.PVs()
	missing := o.pvs.missing(pvs)
	for _, name := range missing {
		fmt.Fprintf(errs, "%s: the source does not have %s\n", o.pvs.file, name)
	}
	if len(pvs) == 0 {
		return 0, fmt.Errorf("the source has none of the PVs to import")
	}
	log := slog.New(slog.NewTextHandler(errs, nil))
	st, err := o.open(ctx, log)
	if err != nil {
		return 0, err
	}
	m, err := migration.NewImporter(ctx, migration.Options{
		Store: st, Shards: o.shards, Engines: !o.storage.locked(), Final: isFinal,
		DryRun: o.dryRun, Since: since, Until: until, Rate: o.pace(), Log: log,
	})
	if err == nil {
		damaged, err = o.process(cmd, m, src)
		m.Close()
	}
	if st != nil {
		err = errors.Join(err, st.Close())
	}
	return damaged + uint64(len(missing)), err
}

// process imports all PVs, verifies them if this is wanted, and prints the sums.
func (o *importOptions) process(cmd *cobra.Command, m *migration.Importer, src *importSource) (damaged uint64, err error) {
	ctx := cmd.Context()
	out, err := newReportFile(o.report)
	if err != nil {
		return 0, fmt.Errorf("--report: %w", err)
	}
	pvs, err := m.Prepare(src.PVs())
	if err != nil {
		return 0, errors.Join(err, out.Close())
	}
	p := newImportProgress(cmd.ErrOrStderr(), out, m, src)
	p.pvs = pvs
	p.run(ctx, m.Begin)
	err = p.print(cmd.OutOrStdout(), len(src.skipped), o.dryRun)
	damaged = p.damaged() + uint64(len(src.skipped))
	if o.verify && err == nil && ctx.Err() == nil && p.failed == nil {
		v := newImportProgress(cmd.ErrOrStderr(), out, m, src)
		v.verifying = true
		v.run(ctx, func(ctx context.Context, src migration.Source, pv string, done func(*migration.Report, error)) {
			done(m.Verify(ctx, src, pv))
		})
		err = v.printVerified(cmd.OutOrStdout())
		damaged += v.differing + uint64(v.ended)
		if now := v.total.Damaged; now > p.total.Damaged { // lines that can no longer be read were not compared
			fmt.Fprintf(cmd.ErrOrStderr(), "%d problems more than in the import: the lines, rows or PVs that they name are not verified\n", now-p.total.Damaged)
			damaged += now - p.total.Damaged
		}
		p.failed = v.failed
	}
	if err := errors.Join(err, ctx.Err(), p.failed, out.Close()); err != nil {
		return damaged, fmt.Errorf("the import is incomplete; repeat it to continue: %w", err)
	}
	return damaged, nil
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
