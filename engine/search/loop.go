package search

import (
	"context"
	"time"
)

// Loop runs rounds of searches when they are due.
type Loop struct {
	due   func() (time.Time, bool)
	round func() bool
	wake  chan struct{} // holds one token
}

// NewLoop returns a Loop. due returns the time at which the next round is due, and whether
// there is a next round. round runs a round, and reports whether the round sent anything.
func NewLoop(due func() (time.Time, bool), round func() bool) *Loop {
	return &Loop{due: due, round: round, wake: make(chan struct{}, 1)}
}

// Wake makes the loop call due again, because a round may be due earlier.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run runs rounds until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-timer.C:
			if l.round() {
				last = time.Now()
			}
		}
		due, ok := l.due()
		if !ok {
			timer.Stop()
			continue
		}
		if earliest := last.Add(RoundInterval); due.Before(earliest) {
			due = earliest
		}
		timer.Reset(time.Until(due))
	}
}
