package outcome

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
)

// MovesProgress counts the moves of a wave. A wave begins with the first move between two
// living engines and ends when no such move is under way. A shard of a dead engine does not
// count, because no engine hands it over.
type MovesProgress struct {
	// Since is when the first move of the wave began.
	Since time.Time
	// Begun is the number of moves of the wave that are done, undone, or under way.
	Begun int
	// Undone is the number of moves that were given up.
	Undone int
	// Moving is the number of moves that are under way.
	Moving int
	// unevenAnnounced and apartAnnounced report whether an event has announced moves of the
	// wave for the reasons Uneven and Apart.
	unevenAnnounced, apartAnnounced bool
}

// MarkAnnounced records that an event announces moves for a reason, and reports whether the
// wave already had such an event. Moves for the reasons Uneven and Apart begin a few at a
// time, so only the first of them causes an event. Moves for other reasons always cause an
// event.
func (p *MovesProgress) MarkAnnounced(reason placement.Reason) (already bool) {
	switch reason {
	case placement.Uneven:
		already, p.unevenAnnounced = p.unevenAnnounced, true
	case placement.Apart:
		already, p.apartAnnounced = p.apartAnnounced, true
	}
	return already
}

// Done is the number of moves that were completed.
func (p MovesProgress) Done() int { return max(p.Begun-p.Undone-p.Moving, 0) }

// Update counts the moves of the next placement. It returns the wave that this placement ends,
// or nil. If a wave began under an earlier operator process, Update counts only its moves from
// now on.
func (p *MovesProgress) Update(now time.Time, placed placement.Result) (ended *MovesProgress) {
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
		case placement.Leaving, placement.Apart, placement.Uneven, placement.Blind, placement.Probe:
			p.Begun++
		}
	}
	p.Undone += len(placed.Undone)
	p.Moving = placed.Moving
	p.Begun = max(p.Begun, p.Moving)
	return nil
}

// Summary describes a wave that ends at now.
func (p *MovesProgress) Summary(now time.Time) string {
	text := fmt.Sprintf("%d shards moved in %v", p.Done(), now.Sub(p.Since).Round(time.Second))
	if p.Undone > 0 {
		text += fmt.Sprintf("; %d moves were undone", p.Undone)
	}
	return text
}

// Status returns the wave for the status of an Archiver, or nil if no move is under way.
func (p *MovesProgress) Status() *v1alpha1.MovesStatus {
	if p.Begun == 0 {
		return nil
	}
	return &v1alpha1.MovesStatus{
		Progress: fmt.Sprintf("%d/%d", p.Done(), p.Begun),
		Done:     int32(p.Done()), Total: int32(p.Begun), Undone: int32(p.Undone),
		// The API server stores whole seconds. An equal status is not written again.
		Since: new(metav1.NewTime(p.Since.Truncate(time.Second))),
	}
}
