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

// watchRows is the most moves that are shown: a screen has no room for more.
const watchRows = 40

// watcher shows again and again who captures the shards of an archive, and which move.
type watcher struct {
	ask func(context.Context) (moves.State, error)
	out io.Writer
	// redraw says that out is a terminal, which shows the latest state only. Else
	// each change is written below the one before.
	redraw bool
	now    func() time.Time
}

// watch asks every interval until ctx ends, which is no error.
func (c *client) watch(cmd *cobra.Command, interval time.Duration) error {
	out := cmd.OutOrStdout()
	w := &watcher{out: out, redraw: isTerminal(out), now: time.Now, ask: func(context.Context) (state moves.State, err error) {
		err = c.decode(cmd, "/api/v1/shards", &state)
		if status := (statusError{}); errors.As(err, &status) && status.code == http.StatusNotFound {
			err = fmt.Errorf("--watch: the archive at %s is not of a cluster, or of an older version: nothing moves there", c.url)
		}
		return state, err
	}}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	return w.run(cmd.Context(), tick.C)
}

// run asks at once and at each tick. An archive that goes away later is waited for.
func (w *watcher) run(ctx context.Context, tick <-chan time.Time) error {
	shown := ""
	for first := true; ; first = false {
		state, err := w.ask(ctx)
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

// show writes a state below its time.
func (w *watcher) show(text string, first bool) error {
	before := "\n"
	switch {
	case w.redraw:
		before = "\x1b[H\x1b[2J" // to the corner, and nothing else on the screen
	case first:
		before = ""
	}
	_, err := fmt.Fprintf(w.out, "%s%s\n%s", before, w.now().UTC().Format(time.RFC3339), text)
	return err
}

// render returns a state as text, which has no time but those in it.
func render(s moves.State) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d shards, %d engines, %d moves\n\n", s.Shards, len(s.Engines), len(s.Moves))
	w := table(&out, "ENGINE", "CAPTURING", "JOINING", "DRAINING")
	for _, e := range s.Engines {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", e.Engine, e.Capturing, e.Joining, e.Draining)
	}
	_ = w.Flush() // to memory
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

// isTerminal reports whether people look at what is written.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
