package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/store"
)

// finalizeOptions are the flags of `varve store finalize`.
type finalizeOptions struct {
	existingOptions
	level  int
	dryRun bool
}

func newStoreFinalize() *cobra.Command {
	var o finalizeOptions
	cmd := &cobra.Command{
		Use:   "finalize",
		Short: "Complete an upgrade; you cannot go back to the former release afterwards",
		Long: `Raises the format level of an archive to the latest level that this program knows.
Until then, a new release stores only data that the former release can read, so you can go
back. Afterwards, programs that do not know the level refuse to start with this archive.

Finalize when every program that uses the archive is of the new release, and works. Stop
the archiver before you finalize an archive in a directory. An archive in Cassandra can
stay in use; run varve schema of the new release first. With spec.upgrade.finalize of an
Archiver, the operator runs this command.

--dry-run prints the format level and changes nothing.`,
		Example: `  varve store finalize --data /var/lib/varve --dry-run
  varve store finalize --data /var/lib/varve
  varve store finalize --cassandra cass-1,cass-2 --cassandra-credentials /etc/varve/admin`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	o.add(cmd.Flags())
	cmd.Flags().IntVar(&o.level, "level", 0, "format level to raise the archive to; it must be the latest one that this program knows (default: that one)")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the format level, and change nothing")
	return cmd
}

func (o *finalizeOptions) run(ctx context.Context, out io.Writer) error {
	if err := o.storageOptions.check(); err != nil {
		return err
	}
	known := store.Formats{}.OrDefault()
	if o.level != 0 && o.level != int(known.Latest) {
		return fmt.Errorf("--level: this program raises archives to format level %d, not to %d; use the program of the release that the pods run",
			known.Latest, o.level)
	}
	st, err := o.openExisting(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	level, err := st.FormatLevel(ctx)
	if err != nil {
		return err
	}
	switch {
	case level == known.Latest:
		fmt.Fprintf(out, "the archive has format level %d, the latest that this program knows: there is nothing to finalize\n", level)
		return nil
	case o.dryRun:
		fmt.Fprintf(out, "the archive has format level %d; finalizing raises it to %d\n", level, known.Latest)
		return nil
	}
	raised, err := st.Finalize(ctx)
	if err != nil {
		return fmt.Errorf("finalizing the archive in %s: %w", o.where(), err)
	}
	fmt.Fprintf(out, "the archive had format level %d, and now has %d: releases that do not know this level refuse it\n", level, raised)
	return nil
}
