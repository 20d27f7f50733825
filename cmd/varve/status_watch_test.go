package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/cluster/moves"
)

var (
	watchTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	still     = moves.State{Shards: 2, Engines: []moves.Engine{{Engine: "a", Capturing: 2}}, Moves: []moves.Move{}}
	joining   = moves.State{
		Shards: 2, Engines: []moves.Engine{{Engine: "a", Capturing: 2}, {Engine: "b", Joining: 1}},
		Moves: []moves.Move{{Shard: 1, From: "a", To: "b", Phase: "Joining", Since: &watchTime}, {Shard: 9, To: "b", Phase: "Ordered"}},
	}
)

// watched runs a watcher with the given answers, one per tick, then ends it like Ctrl-C, and returns its output.
func watched(t *testing.T, redraw bool, answers ...any) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	tick := make(chan time.Time, len(answers))
	var out bytes.Buffer
	w := &watcher{out: &out, redraw: redraw, now: func() time.Time { return watchTime }, query: func(context.Context) (moves.State, error) {
		if len(answers) == 0 {
			cancel()
			return moves.State{}, ctx.Err()
		}
		next := answers[0]
		answers = answers[1:]
		tick <- watchTime
		if err, failed := next.(error); failed {
			return moves.State{}, err
		}
		return next.(moves.State), nil
	}}
	if err := w.run(ctx, tick); err != nil {
		t.Errorf("the watcher failed: %v", err)
	}
	return out.String()
}

// TestWatchInAPipeWritesEachChangeOnce checks that in a pipe, each change is written once,
// including errors.
func TestWatchInAPipeWritesEachChangeOnce(t *testing.T) {
	const stillText = "2026-03-04T05:06:07Z\n2 shards, 1 engines, 0 moves\n\nENGINE  CAPTURING  JOINING  DRAINING\na       2          0        0\n"
	const joiningText = "2026-03-04T05:06:07Z\n2 shards, 2 engines, 2 moves\n\nENGINE  CAPTURING  JOINING  DRAINING\n" +
		"a       2          0        0\nb       0          1        0\n\n" +
		"SHARD  FROM  TO  PHASE    SINCE                 MESSAGE\n" +
		"1      a     b   Joining  2026-03-04T05:06:07Z  \n" +
		"9      -     b   Ordered  -                     \n"
	got := watched(t, false, still, still, joining, joining, errors.New("it is away"), errors.New("it is away"), still)
	want := strings.Join([]string{stillText, joiningText, "2026-03-04T05:06:07Z\nit is away\n", stillText}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWatchOnATerminalRedrawsTheScreen(t *testing.T) {
	got := watched(t, true, still, still)
	if screens := strings.Split(got, "\x1b[H\x1b[2J"); len(screens) != 3 || screens[0] != "" || screens[1] != screens[2] {
		t.Errorf("%q", screens)
	}
}

func TestWatchLimitsTheNumberOfMoves(t *testing.T) {
	many := moves.State{Moves: make([]moves.Move, watchRows+3)}
	if got := render(many); !strings.HasSuffix(got, "and 3 more\n") || strings.Count(got, "\n") > watchRows+10 {
		t.Error(got)
	}
}

// TestWatchReportsMistakesAtOnce checks that watch reports an error at once if waiting
// cannot fix it.
func TestWatchReportsMistakesAtOnce(t *testing.T) {
	alone := httptest.NewServer(http.NotFoundHandler())
	defer alone.Close()
	for args, want := range map[string]string{
		"--watch --channels":           "--watch shows shard moves",
		"--watch SR:*":                 "cannot be combined with PV-GLOB",
		"--watch --interval 1ms":       "--interval: 1ms is less than 100ms",
		"--watch --url " + alone.URL:   "is not in a cluster",
		"--watch --url http://[::1]:1": "check that it runs there",
	} {
		root := newRoot()
		root.SetArgs(append([]string{"status"}, strings.Fields(args)...))
		root.SetOut(&bytes.Buffer{})
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("varve status %s: %v, want %s", args, err, want)
		}
	}
}
