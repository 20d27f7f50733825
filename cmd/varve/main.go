// Command varve is the archiver: one binary for all its parts.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	if err := newRoot().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "varve:", err)
		os.Exit(exitCode(err))
	}
}

// exitCode returns 1, unless the error has a code of its own.
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

  varve demo          see it work, with a simulated IOC
  varve standalone    archive the PVs of ArchiveGroup files, in one process
  varve get           read samples
  varve status        see what is archived, and what is not
  varve schema        make the tables in Cassandra
  varve retention     tell what a change of retention would do
  varve store check   look for what is wrong with an archive

Pods of a cluster run varve operator, varve engine and varve retrieval.`,
		Version:      version(),
		SilenceUsage: true, SilenceErrors: true,
	}
	root.AddCommand(newStandalone(), newIOC(), newDemo(), newGet(), newStatus(), newSchema(), newRetention(), newStore(), newEngine(), newRetrieval(), newOperator())
	return root
}

// version returns the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}

// logFlags are the flags of commands that go on for long.
type logFlags struct{ level, format string }

func (l *logFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.level, "log-level", "info", "what to log: debug, info, warn or error")
	cmd.Flags().StringVar(&l.format, "log-format", "text", "how to log: text or json")
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
