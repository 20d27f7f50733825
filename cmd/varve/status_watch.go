package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/cluster/moves"
)

// watchRows is the maximum number of moves shown, so that they fit on a screen.
const watchRows = 40

// watcher repeatedly shows the engines of an archive and the shard moves under way.
type watcher struct {
	query func(context.Context) (moves.State, error)
	out   io.Writer
	// redraw means that out is a terminal, where only the latest state is shown. Otherwise
	// each change is appended.
	redraw bool
	now    func() time.Time
}

// watch shows the state at every interval until ctx ends, which is not an error.
func (c *client) watch(cmd *cobra.Command, interval time.Duration) error {
	out := cmd.OutOrStdout()
	w := &watcher{out: out, redraw: isTerminal(out), now: time.Now, query: func(context.Context) (state moves.State, err error) {
		err = c.decode(cmd, "/api/v1/shards", &state)
		if status := (statusError{}); errors.As(err, &status) && status.code == http.StatusNotFound {
			err = errors.New("--watch: the archive is not in a cluster, or too old: it reports no shard moves")
		}
		return state, err
	}}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	return w.run(cmd.Context(), tick.C)
}

// run queries at once and at each tick. It fails only if the first query fails.
func (w *watcher) run(ctx context.Context, tick <-chan time.Time) error {
	shown := ""
	for first := true; ; first = false {
		state, err := w.query(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		}
		text := render(state)
		if err != nil {
			text = err.Error() + "\n"
		}
		if text != shown || w.redraw {
			if err := w.show(text, first); err != nil {
				return err
			}
			shown = text
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

// show writes the time and a state.
func (w *watcher) show(text string, first bool) error {
	before := "\n"
	switch {
	case w.redraw:
		before = "\x1b[H\x1b[2J" // clear the screen
	case first:
		before = ""
	}
	_, err := fmt.Fprintf(w.out, "%s%s\n%s", before, w.now().UTC().Format(time.RFC3339), text)
	return err
}

// render formats a state, without the current time.
func render(s moves.State) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d shards, %d engines, %d moves\n\n", s.Shards, len(s.Engines), len(s.Moves))
	w := table(&out, "ENGINE", "CAPTURING", "JOINING", "DRAINING")
	for _, e := range s.Engines {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", e.Engine, e.Capturing, e.Joining, e.Draining)
	}
	_ = w.Flush() // cannot fail: out is in memory
	if len(s.Moves) == 0 {
		return out.String()
	}
	out.WriteByte('\n')
	w = table(&out, "SHARD", "FROM", "TO", "PHASE", "SINCE", "MESSAGE")
	for _, m := range s.Moves[:min(len(s.Moves), watchRows)] {
		since := "-"
		if m.Since != nil {
			since = m.Since.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", m.Shard, cmp.Or(m.From, "-"), cmp.Or(m.To, "-"), m.Phase, since, m.Message)
	}
	_ = w.Flush()
	if more := len(s.Moves) - watchRows; more > 0 {
		fmt.Fprintf(&out, "and %d more\n", more)
	}
	return out.String()
}

// isTerminal reports whether out is a terminal.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
