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
	cmd := &cobra.Command{Use: "store", Short: "Look after what is stored"}
	cmd.AddCommand(newStoreCheck())
	return cmd
}

// checkOptions are what the flags of `varve store check` set.
type checkOptions struct {
	storageOptions
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
		Short: "Look at every row of an archive, and say what is wrong",
		Long: `Reads what is stored, decodes it, and compares the rows with each other. It
changes nothing, unless it is told to.

An archive in a directory can be checked while no other process has it open. One in
Cassandra can be checked at any time; it is read at a bounded rate.

The exit code is 0 if nothing is wrong, 1 if something is, and 2 if the check could
not be done, or not to its end. Ctrl-C ends it with a report of what it has seen.`,
		Example: `  varve store check --data /var/lib/varve
  varve store check --cassandra cass-1,cass-2 --pv 'SR01-VA:*' --json
  varve store check --data /var/lib/varve --repair --drop-corrupt ./corrupt`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, exitNotDone} })
	o.add(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&o.pv, "pv", "", "look at these PVs only, and not at the journal: a name, or a pattern with * and ?")
	f.IntVar(&o.shards, "shards", 64, "number of shards of the archive")
	f.Var(&o.rate, "rate", "how much is read per second from Cassandra")
	f.BoolVar(&o.repair, "repair", false, "add to the directory what it lacks of blocks that are there")
	f.StringVar(&o.dropTo, "drop-corrupt", "", "directory to move blocks to that can not be decoded: their samples are lost, the others can be read again")
	f.BoolVar(&o.json, "json", false, "report as JSON")
	return cmd
}

// exitError is an error with an exit code of its own.
type exitError struct {
	error
	code int
}

func (e exitError) Unwrap() error { return e.error }

// Exit codes of a check.
const (
	exitProblems = 1
	exitNotDone  = 2
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
		return exitError{err, exitNotDone}
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
	if expiring, ok := st.(interface {
		JournalTTL(context.Context) (time.Duration, error)
	}); ok {
		if opts.JournalTTL, err = expiring.JournalTTL(ctx); err != nil {
			return nil, err
		}
	}
	if o.dropTo != "" {
		opts.Drop = o.setAside(st)
	}
	report, err := check.Run(ctx, st, opts)
	return &report, err
}

// options returns those that do not depend on the store.
func (o *checkOptions) options(progress io.Writer) (check.Options, error) {
	if o.shards < 1 || o.shards > 4096 {
		return check.Options{}, fmt.Errorf("--shards: %d is not in 1 to 4096", o.shards)
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

// openExisting opens an archive that is there: it makes none.
func (o *checkOptions) openExisting(ctx context.Context) (store.Store, error) {
	log := slog.New(slog.DiscardHandler)
	if o.locked() {
		if found, err := filepath.Glob(filepath.Join(o.dir, "MANIFEST-*")); err != nil || len(found) == 0 {
			return nil, fmt.Errorf("--data: there is no archive in %s", o.dir)
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

// setAside returns what writes the blob of a block to a file, and then deletes the
// block.
func (o *checkOptions) setAside(st store.Store) func(context.Context, store.Block) error {
	return func(ctx context.Context, b store.Block) error {
		dropper, ok := st.(interface {
			DropBlock(ctx context.Context, k store.BlockKey) error
		})
		if !ok {
			return errors.New("this store can not drop blocks")
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
			fmt.Fprintf(w, "%s: there are %d more of %s\n", kind.Severity(), more, kind)
		}
	}
	if g := r.GivenUp; g != nil {
		fmt.Fprintf(w, "note: the disk guard gave up raw samples from before %s; at %s the archive took %d of %d bytes\n",
			g.Before.Format(time.RFC3339), g.At.Format(time.RFC3339), g.Size, g.Limit)
	}
	end := "all was looked at"
	if !r.Complete {
		end = "the check did not come to its end"
	}
	_, err := fmt.Fprintf(w, "%d PVs, %d blocks with %d samples, %d marks, %d entries of metadata, %d shards with %d rows to be sealed; %d problems, %d repaired; %s\n",
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
