package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/backup"
	"varve.dev/varve/engine/store"
)

// backupVerifyOptions are the flags of `varve backup verify`.
type backupVerifyOptions struct {
	backupRun
	deep     bool
	parallel int
}

func newBackupVerify() *cobra.Command {
	var o backupVerifyOptions
	cmd := &cobra.Command{
		Use:   "verify DIRECTORY NAME",
		Short: "Check that a backup is whole",
		Long: `Reads all packs of a backup, and compares hashes, checksums and numbers of rows with those
that were written. It changes nothing.

Delete the files of damaged packs, and then make another backup while the archive still has
the rows: it writes the packs again, and so repairs the other backups that need them.

Exit codes: 0 the backup is whole; 1 it is damaged; 2 the verification is incomplete.`,
		Example: "  varve backup verify /backup monday --deep",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.backupRun.run(cmd, o.showPacks, func(ctx context.Context) (*backupResult, error) { return o.verify(ctx, cmd, args) })
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, exitFailed} })
	f := cmd.Flags()
	o.backupRun.add(f)
	f.BoolVar(&o.deep, "deep", false, "also decode all samples and bins")
	f.IntVar(&o.parallel, "parallel", 4, "number of packs that are read at a time; each needs up to 64 MiB of memory")
	return cmd
}

func (o *backupVerifyOptions) verify(ctx context.Context, cmd *cobra.Command, args []string) (*backupResult, error) {
	result := &backupResult{Name: args[1]}
	if o.parallel < 1 || o.parallel > 64 {
		return result, fmt.Errorf("--parallel: %d is not between 1 and 64", o.parallel)
	}
	d, err := backupsIn(args[0])
	if err != nil {
		return result, err
	}
	m, report, err := backup.Verify(ctx, d, args[1], backup.VerifyOptions{Deep: o.deep, Parallel: o.parallel, Progress: &o.progress})
	if m != nil {
		result.describe(m)
	}
	if report != nil {
		result.Problems = report.Problems
		for _, text := range report.Problems {
			fmt.Fprintln(cmd.OutOrStdout(), text)
		}
	}
	if err != nil {
		return result, fmt.Errorf("the verification is incomplete: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "backup %s: %d packs of %s read; %d problems\n", m.Name, len(m.Packs), mib(o.progress.Bytes.Load()), report.Count)
	if report.Count > 0 {
		return result, exitError{fmt.Errorf("backup %s is damaged", m.Name), exitProblems}
	}
	return result, nil
}

// backupRestoreOptions are the flags of `varve backup restore`.
type backupRestoreOptions struct {
	existingOptions
	backupRun
	shards      int
	parallel    int
	sameArchive bool
}

func newBackupRestore() *cobra.Command {
	var o backupRestoreOptions
	cmd := &cobra.Command{
		Use:   "restore DIRECTORY NAME",
		Short: "Restore an archive from a backup",
		Long: `Writes the rows of a backup into an empty archive: a new directory, or a keyspace in Cassandra
in which varve schema has just created the tables. The archive must have as many shards as the
backup. A backup of an archive in a directory can be restored into Cassandra, and the other way
round.

Stop all engines first. Start them within a day after the end of the restore into Cassandra:
they seal the journal rows of the backup, which expire after a day. If the restore is
interrupted, repeat it. It refuses an archive that has other rows, or that another backup was
restored into. Blocks and rollups that have expired since the backup are left out.

Exit codes: 0 the archive is restored; 2 it is not, or incomplete.`,
		Example: `  varve backup restore /backup monday --data /var/lib/varve
  varve backup restore /backup monday --cassandra cass-1,cass-2 --cassandra-keyspace varve`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.backupRun.run(cmd, o.showPacks, func(ctx context.Context) (*backupResult, error) { return o.restore(ctx, cmd, args) })
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, exitFailed} })
	f := cmd.Flags()
	o.storageOptions.add(f)
	f.Lookup("data").Usage = "directory of the archive to restore; it is created if it does not exist"
	o.backupRun.add(f)
	f.IntVar(&o.shards, "shards", 64, "number of shards of the archive")
	f.IntVar(&o.parallel, "parallel", 4, "number of packs that are written at a time; each needs up to 64 MiB of memory")
	f.BoolVar(&o.sameArchive, "same-archive", false, "refuse a backup of an archive with another keyspace or directory")
	return cmd
}

func (o *backupRestoreOptions) restore(ctx context.Context, cmd *cobra.Command, args []string) (*backupResult, error) {
	result := &backupResult{Name: args[1]}
	if o.parallel < 1 || o.parallel > 64 {
		return result, fmt.Errorf("--parallel: %d is not between 1 and 64", o.parallel)
	}
	if err := o.check(); err != nil {
		return result, err
	}
	d, err := backupsIn(args[0])
	if err != nil {
		return result, err
	}
	switch m, err := backup.Read(ctx, d, args[1]); { // before a directory is created
	case err != nil:
		return result, err
	case o.sameArchive && m.Source != o.source():
		return result, fmt.Errorf("backup %s is of another archive: it is of %s, and the archive to restore is %s; restore it without --same-archive "+
			"(allowOtherArchive: true in an ArchiveRestore) if you want that", args[1], m.Source, o.source())
	}
	st, err := o.openTarget(ctx)
	if err != nil {
		return result, err
	}
	opts := backup.RestoreOptions{Name: args[1], Shards: o.shards, Parallel: o.parallel, Progress: &o.progress}
	m, restored, err := backup.Restore(ctx, st, d, opts)
	if err = errors.Join(err, st.Close()); err != nil {
		return result, fmt.Errorf("backup %s is not restored: %w", args[1], err)
	}
	result.describe(m)
	result.Already, result.Expired = restored.Already, restored.Expired
	if restored.Already {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "the archive in %s was restored from backup %s before; nothing was written\n", o.where(), m.Name)
		return result, err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "backup %s is restored: %d packs of %s into %s; %d blocks and rollups have expired since\n",
		m.Name, len(m.Packs), mib(m.Bytes), o.where(), restored.Expired)
	return result, err
}

// openTarget opens the archive to restore. It creates a directory, but no tables.
func (o *backupRestoreOptions) openTarget(ctx context.Context) (store.Store, error) {
	if !o.locked() {
		return o.openExisting(ctx)
	}
	entries, err := os.ReadDir(o.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--data: %w", err)
	}
	found, err := filepath.Glob(filepath.Join(o.dir, "MANIFEST-*"))
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	for _, e := range entries {
		if len(found) == 0 && e.Name() != "lost+found" {
			return nil, fmt.Errorf("--data: %s is not an archive and has files, such as %s; give a new directory", o.dir, e.Name())
		}
	}
	return o.openDirectory(nil, slog.New(slog.DiscardHandler))
}
