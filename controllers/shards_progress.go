package controllers

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
)

// MovesProgress is how far a wave of moves has come: those between living engines,
// from when the first one began until none is under way. A shard that has lost its
// engine does not count: it is not on the way from anywhere.
type MovesProgress struct {
	// Since is when the first one began.
	Since time.Time
	// Begun moves are done, undone, or under way.
	Begun, Undone, Moving int
	// uneven and apart say that moves for these reasons were told.
	uneven, apart bool
}

// told reports whether it was told already that shards move for such a reason, and takes
// it for told from now on. Moves to even out the load begin a few at a time: the first
// ones of a wave are news.
func (p *MovesProgress) told(reason placement.Reason) (already bool) {
	switch reason {
	case placement.Uneven:
		already, p.uneven = p.uneven, true
	case placement.Apart:
		already, p.apart = p.apart, true
	}
	return already
}

// Done is the number of moves that came to their end.
func (p MovesProgress) Done() int { return max(p.Begun-p.Undone-p.Moving, 0) }

// follow takes the next decision, and returns the wave that it ends, or nil. A wave that
// began before this operator did is counted from now.
func (p *MovesProgress) follow(now time.Time, placed placement.Result) (ended *MovesProgress) {
	if placed.Moving == 0 {
		if p.Begun > 0 {
			last := *p
			last.Undone, last.Moving = last.Undone+len(placed.Undone), 0
			ended = &last
		}
		*p = MovesProgress{}
		return ended
	}
	if p.Begun == 0 {
		p.Since = now
	}
	for _, m := range placed.Moves {
		switch m.Reason {
		case placement.Leaving, placement.Apart, placement.Uneven:
			p.Begun++
		}
	}
	p.Undone += len(placed.Undone)
	p.Moving = placed.Moving
	p.Begun = max(p.Begun, p.Moving)
	return nil
}

// tell says what came of a wave that has ended now.
func (p *MovesProgress) tell(now time.Time) string {
	text := fmt.Sprintf("%d shards moved in %v", p.Done(), now.Sub(p.Since).Round(time.Second))
	if p.Undone > 0 {
		text += fmt.Sprintf("; %d moves were undone", p.Undone)
	}
	return text
}

// status is what an Archiver shows of it; nil while no move is under way.
func (p *MovesProgress) status() *v1alpha1.MovesStatus {
	if p.Begun == 0 {
		return nil
	}
	return &v1alpha1.MovesStatus{
		Progress: fmt.Sprintf("%d/%d", p.Done(), p.Begun),
		Done:     int32(p.Done()), Total: int32(p.Begun), Undone: int32(p.Undone),
		// As the API server will have it: an equal status is not written again.
		Since: new(metav1.NewTime(p.Since.Truncate(time.Second))),
	}
}
