package agent

import "time"

const (
	// stoodStillAfter is how long nothing ran for a process to have stood still: the agent
	// looks at everything each second.
	stoodStillAfter = 5 * time.Second
	// catchUp is how long it then does nothing: updates that wait in sockets come first. An
	// order to stop may be there whose successor captures since after they were sent.
	catchUp = 2 * time.Second
)

// stall notices that the process stood still, as when it was stopped or its node was.
type stall struct {
	last  time.Time // when the agent last ran; zero: it has not yet
	until time.Time
}

// over reports whether the process did not stand still lately. It is called at the begin of
// each look, and again with ran at its end.
func (s *stall) over(now time.Time) bool {
	if !s.last.IsZero() && now.Sub(s.last) > stoodStillAfter {
		s.until = now.Add(catchUp)
	}
	s.last = now
	return !now.Before(s.until)
}

// ran notes the end of a look, which may take long itself.
func (s *stall) ran(now time.Time) { s.last = now }
