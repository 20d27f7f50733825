package outcome

import (
	"testing"
	"time"

	"varve.dev/varve/controllers/placement"
)

// TestMovesAreAnnouncedOnce tests two waves of moves. Each wave starts in two batches.
func TestMovesAreAnnouncedOnce(t *testing.T) {
	var p MovesProgress
	for wave := range 2 {
		for batch := range 2 {
			if already := p.MarkAnnounced(placement.Uneven); already != (batch > 0) {
				t.Errorf("wave %d, batch %d: already announced is %v", wave, batch, already)
			}
			if p.MarkAnnounced(placement.Leaving) {
				t.Error("moves off a leaving engine were not announced again")
			}
			p.Update(time.Time{}, placement.Result{Moves: []placement.Move{{Reason: placement.Uneven}}, Moving: 1})
		}
		p.Update(time.Time{}, placement.Result{})
	}
}

// TestMovesProgress follows two waves of moves. In the first wave, one move is undone and
// repeated with another engine.
func TestMovesProgress(t *testing.T) {
	begin := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	moves := func(reason placement.Reason, n int) []placement.Move {
		all := make([]placement.Move, n)
		for i := range all {
			all[i].Reason = reason
		}
		return all
	}
	var p MovesProgress
	for i, c := range []struct {
		placed             placement.Result
		done, begun, since int // seconds after begin; -1: no wave
		ended              string
	}{
		{placement.Result{Moves: moves(placement.Dead, 3)}, 0, 0, -1, ""}, // no living source
		{placement.Result{Moves: moves(placement.Uneven, 8), Moving: 8}, 0, 8, 1, ""},
		{placement.Result{Moves: moves(placement.Leaving, 4), Moving: 9}, 3, 12, 1, ""},
		{placement.Result{Moving: 2}, 10, 12, 1, ""},
		{placement.Result{Moving: 1, Undone: make([]placement.Undone, 1)}, 10, 12, 1, ""},
		{placement.Result{Moves: moves(placement.Uneven, 1), Moving: 2}, 10, 13, 1, ""},
		{placement.Result{}, 0, 0, -1, "12 shards moved in 5s; 1 moves were undone"},
		{placement.Result{}, 0, 0, -1, ""},
		{placement.Result{Moving: 5}, 0, 5, 8, ""}, // after a restart of the operator
		{placement.Result{}, 0, 0, -1, "5 shards moved in 1s"},
	} {
		now := begin.Add(time.Duration(i) * time.Second)
		ended := ""
		if last := p.Update(now, c.placed); last != nil {
			ended = last.Summary(now)
		}
		if ended != c.ended || p.Done() != c.done || p.Begun != c.begun {
			t.Errorf("%d: %d/%d, ended %q; want %d/%d, %q", i, p.Done(), p.Begun, ended, c.done, c.begun, c.ended)
		}
		if want := begin.Add(time.Duration(c.since) * time.Second); c.since >= 0 && !p.Since.Equal(want) {
			t.Errorf("%d: since %v, want %v", i, p.Since, want)
		}
	}
}
