package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/backup"
)

// backupCreateOptions are the flags of `varve backup create`.
type backupCreateOptions struct {
	existingOptions
	backupRun
	name         string
	shards       int
	parallel     int
	rate         byteSize
	unlessExists bool
}

func newBackupCreate() *cobra.Command {
	o := backupCreateOptions{rate: 64 << 20}
	cmd := &cobra.Command{
		Use:   "create DIRECTORY",
		Short: "Back up an archive",
		Long: `Copies all rows of an archive to DIRECTORY. Engines of an archive in Cassandra may write
meanwhile. Stop the archiver before you back up an archive in a directory.

The backup has every sample that was acknowledged before it began, and some later ones. It
exists once it is complete. If the command is interrupted, repeat it: it reads the archive
again, and stores only what is missing. Packs, the files of a backup, are shared by the
backups in DIRECTORY.

While a backup is made, do not change the retention of a PV twice.

Exit codes: 0 the backup is complete; 1 the backup exists, but lacks rows that the archive
could not return whole (see varve store check); 2 there is no backup.`,
		Example: `  varve backup create /backup --data /var/lib/varve
  varve backup create /backup --cassandra cass-1,cass-2 --name monday --result /dev/termination-log`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.backupRun.run(cmd, o.show, func(ctx context.Context) (*backupResult, error) { return o.create(ctx, cmd, args[0]) })
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, exitFailed} })
	f := cmd.Flags()
	o.storageOptions.add(f)
	o.backupRun.add(f)
	f.StringVar(&o.name, "name", "", "name of the backup (default: the time, such as 20261127T013000Z)")
	f.IntVar(&o.shards, "shards", 64, "number of shards of the archive")
	f.IntVar(&o.parallel, "parallel", 4, "number of groups of PVs that are copied at a time; each needs up to 64 MiB of memory")
	f.Var(&o.rate, "rate", "maximum number of bytes read from Cassandra per second; 0 is no limit")
	f.BoolVar(&o.unlessExists, "unless-exists", false, "if a backup of this name exists, do nothing and succeed, so that a Job can repeat the command")
	return cmd
}

func (o *backupCreateOptions) create(ctx context.Context, cmd *cobra.Command, arg string) (*backupResult, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	d, err := backupsIn(arg)
	if err != nil {
		return nil, err
	}
	if o.name == "" {
		o.name = time.Now().UTC().Format("20060102T150405Z")
	}
	result := &backupResult{Name: o.name}
	if o.unlessExists {
		if m, err := backup.Read(ctx, d, o.name); !errors.Is(err, backup.ErrNoBackup) {
			return o.existing(result, m, err)
		}
	}
	st, err := o.openExisting(ctx)
	if err != nil {
		return result, err
	}
	defer st.Close()
	opts := backup.CreateOptions{
		Name: o.name, Source: o.source(), Version: version(), Shards: o.shards, Parallel: o.parallel, Progress: &o.progress,
	}
	if !o.locked() {
		opts.Rate = float64(o.rate)
	}
	m, err := backup.Create(ctx, st, d, opts)
	p := &o.progress
	result.NewPacks, result.NewBytes = p.NewPacks.Load(), p.NewBytes.Load()
	result.ReusedPacks, result.ReusedBytes = p.ReusedPacks.Load(), p.ReusedBytes.Load()
	switch {
	case errors.Is(err, backup.ErrExists):
		return result, fmt.Errorf("%w; give another --name, or --unless-exists", err)
	case err != nil:
		return result, fmt.Errorf("there is no backup %s; repeat the command to continue: %w", o.name, err)
	}
	result.describe(m)
	result.Problems = m.Problems
	fmt.Fprintf(cmd.OutOrStdout(), "backup %s: %d PVs, %d blocks, %d unsealed journal rows; %d packs of %s, of which %s are new; complete until %s\n",
		m.Name, m.PVs, m.Rows["block"], m.Rows["journal"], len(m.Packs), mib(m.Bytes), mib(result.NewBytes), m.Begin.Format(time.RFC3339Nano))
	if m.Damaged > 0 {
		for _, text := range m.Problems {
			fmt.Fprintln(cmd.ErrOrStderr(), text)
		}
		return result, exitError{fmt.Errorf("the backup is complete except for %d rows that the archive cannot return whole: run varve store check", m.Damaged), exitProblems}
	}
	return result, nil
}

// existing returns the result for a backup that exists.
func (o *backupCreateOptions) existing(result *backupResult, m *backup.Manifest, err error) (*backupResult, error) {
	switch {
	case err != nil:
		return result, err
	case m.Source != o.source():
		return result, fmt.Errorf("backup %s exists, and is of another archive: %s", o.name, m.Source)
	}
	result.describe(m)
	result.Already = true
	return result, nil
}

// check checks the flags.
func (o *backupCreateOptions) check() error {
	switch {
	case o.shards < 1 || o.shards > 4096:
		return fmt.Errorf("--shards: %d is not between 1 and 4096", o.shards)
	case o.parallel < 1 || o.parallel > 64:
		return fmt.Errorf("--parallel: %d is not between 1 and 64", o.parallel)
	}
	if o.name != "" {
		if err := backup.CheckName(o.name); err != nil {
			return fmt.Errorf("--name: %w", err)
		}
	}
	return o.storageOptions.check()
}

// source says which archive it is. It does not depend on the contact points.
func (o *existingOptions) source() string {
	if o.locked() {
		return "directory " + o.dir
	}
	return "keyspace " + o.keyspace
}

func (o *backupCreateOptions) show(w io.Writer) {
	p := &o.progress
	done, total := p.PVs.Load(), p.TotalPVs.Load()
	fmt.Fprintf(w, "%d of %d PVs (%.0f %%), %s read, %s new, %s reused\n",
		done, total, share(done, total), mib(p.Bytes.Load()), mib(p.NewBytes.Load()), mib(p.ReusedBytes.Load()))
}
