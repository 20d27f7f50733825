package agent

import "time"

const (
	// stalledAfter is the pause between two reconciliations after which the process must
	// have stood still. Normally the agent reconciles at least once a second.
	stalledAfter = 5 * time.Second
	// catchUp is how long the agent then does nothing, so that the updates in socket buffers
	// arrive first. They may include an order to drain, with a successor that has been
	// capturing for some time.
	catchUp = 2 * time.Second
)

// stallDetector notices when the process stood still, as when the process or its node was
// suspended.
type stallDetector struct {
	last  time.Time // when the agent last ran; zero before the first time
	until time.Time // end of the pause to catch up
}

// caughtUp reports whether the agent may reconcile: the process did not stand still, or has
// caught up since. The agent calls caughtUp at the start of each reconciliation and ran at the
// end.
func (s *stallDetector) caughtUp(now time.Time) bool {
	if !s.last.IsZero() && now.Sub(s.last) > stalledAfter {
		s.until = now.Add(catchUp)
	}
	s.last = now
	return !now.Before(s.until)
}

// ran records the end of a reconciliation. The reconciliation itself may take long and does
// not count as a stall.
func (s *stallDetector) ran(now time.Time) { s.last = now }
