// Command varve is the archiver: one binary for all its programs. It parses flags, acquires
// resources, and runs the program that the subcommand names:
//
//	varve operator    ─▶ controllers ─────────────▶ API server
//	varve engine      ─▶ agent ─────────────▶ engine ─┐
//	varve standalone  ─▶ groups/standalone ─▶ engine ─┼─▶ store
//	varve retrieval   ─▶ retrieval/routing, query ────┘
//	varve get, status, why ─▶ HTTP API of an archive
//	kubectl varve     ─▶ API server ─▶ HTTP API of an archive
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // the names of time zones, because the image has no files of them

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal terminates the program at once.
	context.AfterFunc(ctx, stop)
	if err := rootOf(os.Args[0]).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "varve:", err)
		os.Exit(exitCode(err))
	}
}

// exitCode returns the exit code of an error: 1 unless it is an exitError.
func exitCode(err error) int {
	if e := (exitError{}); errors.As(err, &e) {
		return e.code
	}
	return 1
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "varve",
		Short: "An archiver for EPICS control systems",
		Long: `Varve archives the process variables (PVs) of EPICS IOCs.

  varve demo             try it out with a simulated IOC
  varve standalone       archive the PVs of ArchiveGroup files in one process
  varve get              read the samples of a PV
  varve status           show groups and channels
  varve why              say why a PV has no samples, or when the last one came
  varve schema           create the tables in Cassandra
  varve validate         check manifests without a cluster
  varve plan             print what new groups would change
  varve forecast         predict how large the archive becomes
  varve retention plan   predict the effect of a new retention
  varve store check      find damaged or inconsistent data
  varve store finalize   complete an upgrade; you cannot go back afterwards
  varve backup create    back up an archive; see also varve backup restore
  varve import config    make ArchiveGroups from the configuration of another archiver
  varve import data      import the samples of another archiver
  varve import job       print the manifest of a Job that imports files in a cluster
  varve compare          compare the samples with those of another archive
  varve login            check a token for an archive, and store it
  varve token create     make a token for a reader
  varve completion       complete commands, PV names and flags in your shell

In a cluster, pods run varve operator, varve engine and varve retrieval.`,
		Version:      version(),
		SilenceUsage: true, SilenceErrors: true,
	}
	root.AddCommand(newStandalone(), newIOC(), newDemo(), newGet(), newStatus(nil), newWhy(nil), newSchema(), newRetention(), newPlan(), newValidate(), newForecast(), newStore(), newBackup(), newImport(), newCompare(), newEngine(), newRetrieval(), newOperator(), newLogin(), newToken(), newVersion())
	return root
}

// logFlags are the log flags of long-running commands.
type logFlags struct{ level, format string }

func (l *logFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.level, "log-level", "info", "minimum level of log messages: debug, info, warn or error")
	cmd.Flags().StringVar(&l.format, "log-format", "text", "format of log messages: text or json")
}

func (l *logFlags) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return nil, fmt.Errorf("--log-level: %q is not debug, info, warn or error", l.level)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, opts)), nil
	}
	return nil, fmt.Errorf("--log-format: %q is not text or json", l.format)
}
