package capture

import (
	"bytes"
	"math"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
)

// filter decides which samples of a channel are kept. It never blocks, and it allocates
// only to remember long values.
type filter struct {
	set     *Settings
	typ     sample.Type
	fresh   bool          // the next sample is the first since the channel connected
	has     bool          // last is set
	lastSrc int64         // the source's time of last
	last    sample.Sample // the latest sample kept
	slot    int64         // the rate slot of last, for MaxRate
}

// keep reports whether to keep a sample that arrived at a time, and the reason if not. It
// replaces the sample's time with the engine's where the clock settings require it.
func (f *filter) keep(s *sample.Sample, arrival clock.Instant) (sample.Reason, bool) {
	if len(s.Bytes) > MaxValueBytes {
		return sample.TooLarge, false
	}
	if f.duplicate(s) {
		return sample.Duplicate, false
	}
	source := s.Time
	if !f.checkClock(s, arrival) {
		return sample.Clock, false
	}
	if f.set.Mode == Monitor && f.has && !f.fresh && f.last.Tag.SameAlarm(s.Tag) {
		if f.withinDeadband(s) && !f.beats(s.Time) {
			return sample.Deadband, false
		}
		if f.set.MaxRate > 0 && f.rateSlot(s.Time) == f.slot {
			return sample.Rate, false
		}
	}
	f.remember(s, source)
	return 0, true
}

// size returns the bytes of the last kept value, or 0 if there is none.
func (f *filter) size() int {
	switch {
	case !f.has:
		return 0
	case f.typ.Fixed():
		return 8
	}
	return len(f.last.Bytes)
}

// MaxValueBytes is the largest value that is archived: 16 MiB of elements and the
// overhead of a structure. A larger value would not fit into a journal row.
const MaxValueBytes = 17 << 20

// duplicate reports whether the source sent the last kept sample again.
func (f *filter) duplicate(s *sample.Sample) bool {
	if !f.has || s.Time != f.lastSrc {
		return false
	}
	again := *s
	again.Time, again.Tag = f.last.Time, s.Tag|f.last.Tag&sample.EngineClock
	return f.last.Same(&again)
}

// differs reports whether a value that was read differs from the last kept sample, so that the
// filter would keep it. The time does not count: an IOC sends no update for a new time alone.
func (f *filter) differs(s *sample.Sample) bool {
	if !f.has {
		return true
	}
	again := *s
	again.Time, again.Tag = f.last.Time, s.Tag|f.last.Tag&sample.EngineClock
	return !f.last.Same(&again) && (!f.last.Tag.SameAlarm(s.Tag) || !f.withinDeadband(s))
}

// checkClock applies the clock settings. It reports false if they refuse the sample. Only the
// distance between the source's time and the arrival counts, never the previous sample. If the
// engine's clock may be wrong, the sample must be outside of the limits by every time that it
// may be.
func (f *filter) checkClock(s *sample.Sample, arrival clock.Instant) bool {
	if f.set.Clock == EngineClock {
		s.Time, s.Tag = arrival.Now, s.Tag|sample.EngineClock
		return true
	}
	ahead := f.set.Ahead > 0 && s.Time-arrival.To > int64(f.set.Ahead)
	behind := f.set.Behind > 0 && arrival.From-s.Time > int64(f.set.Behind) && !f.fresh
	if !ahead && !behind {
		return true
	}
	if f.set.OnClock == Refuse {
		return false
	}
	s.Time, s.Tag = arrival.Now, s.Tag|sample.EngineClock
	return true
}

// beats reports whether a sample at a time would be the first one in its heartbeat interval that is kept.
func (f *filter) beats(t int64) bool {
	h := f.set.Heartbeat
	return h > 0 && slotEnd(t+1, h) != slotEnd(f.last.Time+1, h) // an interval includes its beginning
}

// withinDeadband compares a value with the last kept one. Two NaN count as equal.
func (f *filter) withinDeadband(s *sample.Sample) bool {
	if f.set.Unchanged && f.last.Word == s.Word && bytes.Equal(f.last.Bytes, s.Bytes) {
		return true
	}
	if f.set.Absolute == 0 && f.set.Relative == 0 || !f.typ.Numeric() {
		return false
	}
	was, is := sample.Float(f.typ, f.last.Word), sample.Float(f.typ, s.Word)
	if math.IsNaN(was) || math.IsNaN(is) {
		return math.IsNaN(was) && math.IsNaN(is)
	}
	if was == is {
		return true
	}
	d := math.Abs(is - was) // infinite or NaN if a value is infinite, so that the sample is kept
	return f.set.Absolute > 0 && d <= f.set.Absolute || f.set.Relative > 0 && d <= f.set.Relative*math.Abs(was)
}

// rateSlot returns the number of the slot that contains the time of a sample. A slot lasts
// 1/MaxRate seconds.
func (f *filter) rateSlot(t int64) int64 { return int64(math.Floor(float64(t) / 1e9 * f.set.MaxRate)) }

func (f *filter) remember(s *sample.Sample, source int64) {
	buf := append(f.last.Bytes[:0], s.Bytes...)
	f.last, f.lastSrc, f.has, f.fresh = *s, source, true, false
	f.last.Bytes = buf
	if f.set.MaxRate > 0 {
		f.slot = f.rateSlot(s.Time)
	}
}
