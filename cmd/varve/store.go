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
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/check"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra"
)

func newStore() *cobra.Command {
	cmd := &cobra.Command{Use: "store", Short: "Maintain stored data"}
	cmd.AddCommand(newStoreCheck(), newStoreFinalize())
	return cmd
}

// existingOptions select an archive that exists.
type existingOptions struct{ storageOptions }

// checkOptions are the flags of `varve store check`.
type checkOptions struct {
	existingOptions
	pv     string
	shards int
	rate   byteSize
	repair bool
	dropTo string
	json   bool
}

func newStoreCheck() *cobra.Command {
	o := checkOptions{rate: 16 << 20}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check every row of an archive",
		Long: `Reads and decodes all stored rows, and checks that they are consistent. It changes
nothing without --repair or --drop-damaged.

Stop the archiver before you check an archive in a directory. An archive in Cassandra
can be checked at any time; --rate limits the load.

The exit code is 0 if there are no problems, 1 if there are, and 2 if the check failed or
was not completed. Ctrl-C stops the check and prints a report of the data checked so far.`,
		Example: `  varve store check --data /var/lib/varve
  varve store check --cassandra cass-1,cass-2 --pv 'SR01-VA:*' --json
  varve store check --data /var/lib/varve --repair --drop-damaged ./damaged`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, exitFailed} })
	o.add(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&o.pv, "pv", "", "check only these PVs, without the journal: a name or a pattern with * and ?")
	f.IntVar(&o.shards, "shards", 64, "number of shards of the archive")
	f.Var(&o.rate, "rate", "maximum number of bytes read from Cassandra per second")
	f.BoolVar(&o.repair, "repair", false, "add missing entries of existing blocks to the directory, and remove elements of it that cannot be read")
	f.StringVar(&o.dropTo, "drop-damaged", "", "move damaged blocks to this directory; their samples are lost")
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	return cmd
}

// exitError is an error with a specific exit code.
type exitError struct {
	error
	code int
}

func (e exitError) Unwrap() error { return e.error }

// Exit codes of varve store check.
const (
	exitProblems = 1
	exitFailed   = 2
)

func (o *checkOptions) run(cmd *cobra.Command) error {
	report, err := o.check(cmd)
	if report != nil {
		if failed := o.print(cmd.OutOrStdout(), report); err == nil {
			err = failed
		}
	}
	switch {
	case err != nil:
		return exitError{err, exitFailed}
	case report.Problems() > 0:
		return exitError{fmt.Errorf("%d problems found", report.Problems()), exitProblems}
	}
	return nil
}

func (o *checkOptions) check(cmd *cobra.Command) (*check.Report, error) {
	opts, err := o.options(cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	ctx := cmd.Context()
	st, err := o.openExisting(ctx)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if !o.locked() {
		opts.Rate = float64(o.rate)
	}
	if opts.JournalTTL, err = st.JournalTTL(ctx); err != nil {
		return nil, err
	}
	if o.dropTo != "" {
		opts.Drop = o.setAside(st)
	}
	report, err := check.Run(ctx, st, opts)
	return &report, err
}

// options returns the options that do not depend on the store.
func (o *checkOptions) options(progress io.Writer) (check.Options, error) {
	if o.shards < 1 || o.shards > 4096 {
		return check.Options{}, fmt.Errorf("--shards: %d is not between 1 and 4096", o.shards)
	}
	opts := check.Options{Shards: o.shards, Repair: o.repair, Progress: func(p check.Progress) {
		fmt.Fprintf(progress, "%d of %d PVs (%.0f %%), %.0f PVs/s, %d MiB read\n",
			p.PVs, p.Total, 100*float64(p.PVs)/float64(max(1, p.Total)), float64(p.PVs)/p.Elapsed.Seconds(), p.Bytes>>20)
	}}
	if o.pv != "" {
		opts.Match = request.Glob(o.pv)
	}
	return opts, nil
}

// openExisting opens an existing archive. It creates nothing.
func (o *existingOptions) openExisting(ctx context.Context) (store.Store, error) {
	log := slog.New(slog.DiscardHandler)
	if o.locked() {
		if found, err := filepath.Glob(filepath.Join(o.dir, "MANIFEST-*")); err != nil || len(found) == 0 {
			return nil, fmt.Errorf("--data: no archive in %s", o.dir)
		}
		return o.openDirectory(nil, log)
	}
	cfg, err := o.cassandra(nil, log)
	if err != nil {
		return nil, err
	}
	st, err := cassandra.Open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("opening Cassandra: %w", o.explain(err))
	}
	return st, nil
}

// setAside returns a function that writes the blob of a block to a file and then deletes the
// block.
func (o *checkOptions) setAside(st store.Store) func(context.Context, store.Block) error {
	return func(ctx context.Context, b store.Block) error {
		dropper, ok := st.(interface {
			DropBlock(ctx context.Context, k store.BlockKey) error
		})
		if !ok {
			return errors.New("this store cannot delete single blocks")
		}
		if err := os.MkdirAll(o.dropTo, 0o750); err != nil {
			return err
		}
		name := fmt.Sprintf("%x-%d-%d-%v-%d.block", b.PV, int64(b.Bucket), b.Start, b.Writer, b.N)
		if err := writeSynced(filepath.Join(o.dropTo, name), b.Blob); err != nil {
			return err
		}
		return dropper.DropBlock(ctx, b.BlockKey)
	}
}

func writeSynced(name string, data []byte) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func (o *checkOptions) print(w io.Writer, r *check.Report) error {
	if o.json {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	for _, f := range r.Findings {
		state := ""
		if f.Repaired {
			state = " (repaired)"
		}
		if f.PV != "" {
			f.PV += ": "
		}
		fmt.Fprintf(w, "%s: %s%s: %s: %s%s\n", f.Severity, f.PV, f.Where, f.Kind, f.Text, state)
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Counts)) {
		if more := r.Counts[kind] - countOf(r.Findings, kind); more > 0 {
			fmt.Fprintf(w, "%s: %d more of %s\n", kind.Severity(), more, kind)
		}
	}
	if g := r.GivenUp; g != nil {
		fmt.Fprintf(w, "note: the disk guard deleted raw samples from before %s; at %s the archive took %d of %d bytes\n",
			g.Before.Format(time.RFC3339), g.At.Format(time.RFC3339), g.Size, g.Limit)
	}
	end := "the check is complete"
	if !r.Complete {
		end = "the check is incomplete"
	}
	_, err := fmt.Fprintf(w, "%d PVs, %d blocks with %d samples, %d marks, %d metadata entries, %d shards with %d unsealed rows; %d problems, %d repaired; %s\n",
		r.PVs, r.Blocks, r.Samples, r.Marks, r.Metadata, r.Shards, r.Rows, r.Problems(), r.Repaired, end)
	return err
}

func countOf(all []check.Finding, kind check.Kind) (n int) {
	for i := range all {
		if all[i].Kind == kind {
			n++
		}
	}
	return n
}
