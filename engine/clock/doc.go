// Package clock decides whether the clock of this machine is right, and gives the engine the times
// that it needs although the clock may be wrong.
//
//	servers of the store, each minute ──┐
//	claims of other engines ────────────┤            ┌─▶ Now: time stamps, limits of the filter, marks
//	samples of IOCs, by server ─────────┼─▶ Judge ───┼─▶ Earliest: what has expired, TTLs
//	the clock itself before a step ─────┘  (pure)    └─▶ Verdict: report, metrics, log
//
// Each piece of evidence is anchored on a clock that cannot be set: the time since the machine
// booted, which goes on while a virtual machine is paused. A step of the clock therefore changes
// what all evidence says about it, at once. Now notices a step without a system call, because
// time.Now reads a monotonic clock too, and judges again before it returns.
//
// # Marks
//
// Marks, and the times up to which samples are durable, are compared with the times of samples. So
// they need a right time, with bounds: Instant.Begin and Instant.End. Everything that turns "my clock"
// into the time of a mark uses them. They are exact if the clock and the evidence agree. A clock that is
// right because it is off by less than 10 s has wider bounds.
//
//	the clock, unless it is wrong ─┐
//	servers of the store ──────────┼─▶ from the earliest to the latest: Begin, End
//	IOCs, if they contradict ──────┤
//	engines, without servers, IOCs ┘
//
// Moment gives the instant of an earlier time.Now. It counts the time since with the monotonic clock.
//
// # What a verdict changes
//
//   - Right: nothing. The engine uses its clock.
//   - Wrong: the engine uses its clock plus the offset that the evidence agrees on.
//   - Unknown: the engine uses its clock. The time may be anything between the clock and the
//     evidence, so the filter treats the time of a sample as wrong only if it is wrong by all of
//     them.
//
// Earliest is never later than the clock or the evidence. Retention and TTLs use it, so a wrong
// clock keeps samples for longer and never for a shorter time.
package clock
