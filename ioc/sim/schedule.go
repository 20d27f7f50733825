package sim

import "time"

// A period is divided into slices to spread the load evenly.
const (
	sliceTime = int64(10 * time.Millisecond)
	maxSlices = 1000
)

// Schedule determines which updates are due at which time. PV index is in slice index %
// slices. Turns are numbered: turn n updates the PVs of slice n % slices for tick n / slices.
// Times are in nanoseconds since the start, when turn 0 was due.
//
// The schedule starts one period before the server does, so every PV has a value at once. The
// schedule uses the monotonic clock, so a step of the wall clock has no effect.
type Schedule struct {
	start  time.Time
	period int64 // 0 without a clock: turns then follow each other
	slices int64
	step   int64 // time from one slice to the next
}

// NewSchedule returns the schedule of a server that starts now. rate is in Hz. With a rate of
// 0 or less there is no clock.
func NewSchedule(now time.Time, rate float64) *Schedule {
	if rate <= 0 {
		return &Schedule{start: now, slices: 1}
	}
	s := &Schedule{period: int64(float64(time.Second) / rate)}
	s.slices = min(max(s.period/sliceTime, 1), maxSlices)
	s.step = s.period / s.slices
	s.start = now.Add(-time.Duration(s.period))
	return s
}

// Slices returns the number of slices.
func (s *Schedule) Slices() int64 { return s.slices }

// Slice returns the slice of a PV.
func (s *Schedule) Slice(p PV) int64 { return int64(p.Index) % s.slices }

// Flat reports whether there is no clock.
func (s *Schedule) Flat() bool { return s.period == 0 }

// Now returns the current time.
func (s *Schedule) Now() int64 { return int64(time.Since(s.start)) }

// Due returns the time at which a turn is due.
func (s *Schedule) Due(turn int64) int64 { return turn/s.slices*s.period + turn%s.slices*s.step }

// Next returns the first turn that is not yet due.
func (s *Schedule) Next(now int64) int64 {
	return now/s.period*s.slices + min(now%s.period/s.step, s.slices-1) + 1
}

// Unix converts a time to nanoseconds since 1970.
func (s *Schedule) Unix(t int64) int64 { return s.start.UnixNano() + t }
