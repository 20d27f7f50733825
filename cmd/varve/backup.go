package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"varve.dev/varve/engine/backup"
	"varve.dev/varve/engine/store"
)

func newBackup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Back up and restore an archive",
		Long: `Copies the rows of an archive to a directory, verifies the copies, and restores them. A backup can
be made while engines write, and has every sample that was acknowledged before it began. The
backups in a directory share their files, so a further backup stores only what has changed.

DIRECTORY is a directory that only has backups, such as a mounted volume. One archive per
directory shares best.`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newBackupCreate(), newBackupList(), newBackupVerify(), newBackupRestore(), newBackupDelete())
	return cmd
}

// backupsIn returns the destination that an argument names.
func backupsIn(arg string) (backup.Destination, error) {
	if arg == "" {
		return nil, errors.New("the name of the directory of backups is empty")
	}
	if strings.Contains(arg, "://") {
		return nil, fmt.Errorf("%s: backups are stored in a directory; mount the storage, or copy the directory", arg)
	}
	return backup.NewDir(arg), nil
}

// backupRun has the flags that show how far a command is, and its result.
type backupRun struct {
	result   string
	progress backup.Progress
	began    time.Time
}

func (o *backupRun) add(f *pflag.FlagSet) {
	f.StringVar(&o.result, "result", "", "write a summary as JSON to this file, also if the command fails; at most 4096 bytes, as for the termination message of a container")
}

// backupProgressEvery is the interval of lines with the progress.
const backupProgressEvery = 5 * time.Second

// run runs do, with lines about its progress, and writes the result.
func (o *backupRun) run(cmd *cobra.Command, show func(io.Writer), do func(ctx context.Context) (*backupResult, error)) error {
	o.began = time.Now()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(backupProgressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				show(cmd.ErrOrStderr())
			case <-stop:
				return
			}
		}
	}()
	result, err := do(cmd.Context())
	close(stop)
	<-ended
	if result == nil {
		result = new(backupResult)
	}
	if err != nil {
		result.Error = err.Error()
	}
	if failed := o.write(result); failed != nil {
		err = errors.Join(err, fmt.Errorf("--result: %w", failed))
	}
	if code := (exitError{}); err != nil && !errors.As(err, &code) {
		err = exitError{err, exitFailed}
	}
	return err
}

// backupResult is the summary of a command for programs, such as a controller that runs it as a Job.
type backupResult struct {
	Name    string           `json:"name,omitempty"`
	Source  string           `json:"source,omitempty"`
	Version string           `json:"version,omitempty"`
	Begin   *time.Time       `json:"begin,omitempty"`
	End     *time.Time       `json:"end,omitempty"`
	Rows    map[string]int64 `json:"rows,omitempty"`
	PVs     int              `json:"pvs,omitempty"`
	Bytes   int64            `json:"bytes,omitempty"`
	// CompleteUntil is the time before which all acknowledged samples are in the backup.
	CompleteUntil *time.Time        `json:"completeUntil,omitempty"`
	FormatLevel   store.FormatLevel `json:"formatLevel,omitempty"`
	Shards        int               `json:"shards,omitempty"`
	Damaged       int64             `json:"damaged,omitempty"`
	NewPacks      int64             `json:"newPacks"`
	NewBytes      int64             `json:"newBytes"`
	ReusedPacks   int64             `json:"reusedPacks"`
	ReusedBytes   int64             `json:"reusedBytes"`
	// Already means that there was nothing to do: the backup existed, or had been restored before.
	Already  bool     `json:"already,omitempty"`
	Expired  int64    `json:"expired,omitempty"`
	Problems []string `json:"problems,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// describe copies the fields of a manifest.
func (r *backupResult) describe(m *backup.Manifest) {
	r.Name, r.Source, r.Version, r.Begin, r.End, r.CompleteUntil = m.Name, m.Source, m.Version, &m.Begin, &m.End, &m.Begin
	r.Rows, r.PVs, r.Bytes, r.FormatLevel, r.Shards, r.Damaged = m.Rows, m.PVs, m.Bytes, m.FormatLevel, m.Shards, m.Damaged
}

// maxResult is the maximum size of a termination message of a container.
const maxResult = 4096

// write writes the result in place, because a termination message is a mounted file.
func (o *backupRun) write(r *backupResult) error {
	if o.result == "" {
		return nil
	}
	const maxText = 1000
	r.Error, r.Source = cutText(r.Error, maxText), cutText(r.Source, 300)
	data, err := json.Marshal(r)
	for err == nil && len(data) > maxResult && len(r.Problems) > 0 {
		r.Problems = r.Problems[:len(r.Problems)-1]
		data, err = json.Marshal(r)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(o.result, append(data, '\n'), 0o640)
}

// cutText cuts a text to a number of bytes of valid UTF-8.
func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// mib formats a number of bytes.
func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// share returns how much is done, in percent.
func share(done, total int64) float64 { return 100 * float64(done) / float64(max(1, total)) }

func (o *backupRun) showPacks(w io.Writer) {
	p := &o.progress
	fmt.Fprintf(w, "%d of %d packs (%.0f %%), %s\n", p.Packs.Load(), p.TotalPacks.Load(), share(p.Packs.Load(), p.TotalPacks.Load()), mib(p.Bytes.Load()))
}

func newBackupList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list DIRECTORY",
		Short:   "List the backups in a directory",
		Example: "  varve backup list /backup",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := listBackups(cmd, args[0], asJSON); err != nil {
				return exitError{err, exitFailed}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a line of JSON for each backup")
	return cmd
}

func listBackups(cmd *cobra.Command, arg string, asJSON bool) error {
	d, err := backupsIn(arg)
	if err != nil {
		return err
	}
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	if err := backup.CheckDestination(ctx, d); err != nil {
		return err
	}
	all, broken, err := backup.List(ctx, d)
	if err != nil {
		return err
	}
	for _, m := range all {
		if asJSON {
			var r backupResult
			r.describe(m)
			if err := json.NewEncoder(out).Encode(r); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(out, "%s: begun %s, %d PVs, %d blocks, %s, of %s\n", m.Name, m.Begin.Format(time.RFC3339), m.PVs, m.Rows["block"], mib(m.Bytes), m.Source)
	}
	var errs []error
	for _, err := range broken {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func newBackupDelete() *cobra.Command {
	keep, lenient := 0, false
	cmd := &cobra.Command{
		Use:   "delete DIRECTORY [NAME…]",
		Short: "Delete backups",
		Long: `Deletes the backups with these names, and the files that no other backup in the directory
needs. It refuses while a backup is being made in the directory. An interrupted deletion is
completed by the next one, even without names.`,
		Example: `  varve backup delete /backup monday tuesday
  varve backup delete /backup --keep 7`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := deleteBackups(cmd, args[0], args[1:], keep, lenient); err != nil {
				return exitError{err, exitFailed}
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 0, "delete all backups but the latest ones: the number to keep")
	cmd.Flags().BoolVar(&lenient, "ignore-not-found", false, "if there is no backup of a name, succeed, so that a Job can repeat the command")
	return cmd
}

func deleteBackups(cmd *cobra.Command, arg string, names []string, keep int, lenient bool) error {
	d, err := backupsIn(arg)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("keep") {
		if len(names) > 0 {
			return errors.New("give either names of backups or --keep")
		}
		if names, err = backup.Older(cmd.Context(), d, keep); err != nil {
			return fmt.Errorf("--keep: %w", err)
		}
	}
	if lenient {
		if names = existingBackups(cmd.Context(), d, names); names == nil {
			return nil
		}
	}
	removed, err := backup.Remove(cmd.Context(), d, names...)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d backups deleted, with %d packs of %s\n", len(names), removed.Packs, mib(removed.Bytes))
	return err
}

// existingBackups returns the names of backups that exist, damaged ones too. It returns nil if there is no destination.
func existingBackups(ctx context.Context, d backup.Destination, names []string) []string {
	if err := backup.CheckDestination(ctx, d); errors.Is(err, backup.ErrNoDestination) {
		return nil
	}
	found := []string{}
	for _, name := range names {
		if _, err := backup.Read(ctx, d, name); !errors.Is(err, backup.ErrNoBackup) {
			found = append(found, name)
		}
	}
	return found
}
