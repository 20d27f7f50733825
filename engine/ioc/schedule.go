package ioc

import "time"

// Slices a period is divided in, so that the load is smooth.
const (
	sliceTime = int64(10 * time.Millisecond)
	maxSlices = 1000
)

// schedule says when which updates are due. PV index is in slice index % slices.
// Turns are numbered: turn n updates the PVs of slice n % slices for tick
// n / slices. Times are in nanoseconds since the start, at which turn 0 was due.
//
// The start lies a period before the server's, so every PV has a value at once.
// Time is read from the monotonic clock: a step of the wall clock has no effect.
type schedule struct {
	start  time.Time
	period int64 // 0: there is no clock, turns follow each other
	slices int64
	step   int64 // from one slice to the next
}

// newSchedule returns the schedule of a server started now; rate is in Hz, and
// not positive for none.
func newSchedule(now time.Time, rate float64) *schedule {
	if rate <= 0 {
		return &schedule{start: now, slices: 1}
	}
	s := &schedule{period: int64(float64(time.Second) / rate)}
	s.slices = min(max(s.period/sliceTime, 1), maxSlices)
	s.step = s.period / s.slices
	s.start = now.Add(-time.Duration(s.period))
	return s
}

// flat reports whether there is no clock.
func (s *schedule) flat() bool { return s.period == 0 }

// now returns the time.
func (s *schedule) now() int64 { return int64(time.Since(s.start)) }

// due returns when a turn is due.
func (s *schedule) due(turn int64) int64 { return turn/s.slices*s.period + turn%s.slices*s.step }

// next returns the first turn that is not yet due.
func (s *schedule) next(now int64) int64 {
	return now/s.period*s.slices + min(now%s.period/s.step, s.slices-1) + 1
}

// unix returns a time in nanoseconds since 1970.
func (s *schedule) unix(t int64) int64 { return s.start.UnixNano() + t }
