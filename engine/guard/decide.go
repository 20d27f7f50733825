package guard

import (
	"cmp"
	"time"

	"varve.dev/varve/engine/store"
)

// Limits are what the guard keeps to.
type Limits struct {
	// Bytes that the archive may take; 0: as many as it likes.
	Bytes int64
	// High and Low are the parts of that at which giving up begins, and ends.
	High, Low float64
	// Youngest is how old samples are, at least, that are given up.
	Youngest time.Duration
}

// Defaults of Limits, and the least of Youngest.
const (
	defaultHigh = 0.90
	defaultLow  = 0.85
	dayLong     = 24 * time.Hour
)

func (l *Limits) setDefaults() {
	l.High, l.Low = cmp.Or(l.High, defaultHigh), cmp.Or(l.Low, defaultLow)
	l.Youngest = max(l.Youngest, dayLong)
}

func (l *Limits) high() int64 { return int64(l.High * float64(l.Bytes)) }
func (l *Limits) low() int64  { return int64(l.Low * float64(l.Bytes)) }

// State is what is known of an archive.
type State struct {
	// Cutoff as it stands; the zero value if nothing was ever given up.
	Cutoff store.Cutoff
	// Given is how many bytes all shards have given up since the archive began.
	Given int64
	// Behind is how many shards have not followed the cutoff yet.
	Behind int
	// Begins is when the oldest raw samples are, about, in ns since 1970.
	Begins int64
	// Last is the latest step, as far as it is known.
	Last Step
}

// Step is by how far the cutoff was raised, and the bytes that this yielded.
type Step struct {
	Length time.Duration
	Bytes  int64
}

// Reason says what the guard does, for programs.
type Reason string

// Reasons.
const (
	// NoLimit: no limit is set, or known.
	NoLimit Reason = "NoLimit"
	// BelowLimit: the archive takes less than the high-water mark.
	BelowLimit Reason = "BelowLimit"
	// Dropping: old raw samples are being given up.
	Dropping Reason = "Dropping"
	// WaitingForRoom: enough was given up, and is not free yet.
	WaitingForRoom Reason = "WaitingForRoom"
	// NothingLeft: all that may be given up is.
	NothingLeft Reason = "NothingLeft"
	// SizeUnknown: the store does not say how large the archive is, so nothing is done.
	SizeUnknown Reason = "SizeUnknown"
)

// Decision is what to do.
type Decision struct {
	Reason Reason
	// Cutoff is to be written if it is not that of the state. Raised says that it rises.
	Cutoff store.Cutoff
	Raised bool
	// Waiting is how many bytes were given up that are not free yet; Need how many more
	// are to be.
	Waiting, Need int64
}

const (
	// shortest is the least step.
	shortest = time.Hour
	// settled is the part of what was given up that need not show as room: sizes are not
	// exact.
	settled = 10
)

// Decide says what to do about an archive of a size.
func Decide(s State, l Limits, size int64, now time.Time) Decision {
	d := Decision{Reason: NoLimit, Cutoff: s.Cutoff}
	if l.Bytes <= 0 {
		return d
	}
	d.account(&s, size)
	future := size - d.Waiting
	switch {
	case future >= l.high():
		d.Cutoff.Open = true
	case future <= l.low():
		d.Cutoff.Open = false
	}
	switch {
	case d.Cutoff.Open:
		d.Need = future - l.low()
		d.raise(&s, &l, size, now)
	case d.Waiting > 0 && size > l.low():
		d.Reason = WaitingForRoom
	default:
		d.Reason = BelowLimit
	}
	return d
}

// account finds how much of what was given up is not free yet.
func (d *Decision) account(s *State, size int64) {
	f := &d.Cutoff
	given := max(0, s.Given-f.Settled)
	if given == 0 {
		return
	}
	f.Peak = max(f.Peak, size)
	d.Waiting = max(0, given-(f.Peak-size))
	if s.Behind == 0 && d.Waiting <= given/settled {
		d.Waiting, f.Settled, f.Peak = 0, s.Given, size
	}
}

// raise raises the cutoff, unless the step before is still being taken.
func (d *Decision) raise(s *State, l *Limits, size int64, now time.Time) {
	d.Reason = Dropping
	if s.Behind > 0 {
		return
	}
	begins, ceiling := max(s.Begins, s.Cutoff.Before), now.Add(-l.Youngest).UnixNano()
	room := time.Duration(ceiling - begins)
	if room < shortest {
		d.Reason = NothingLeft
		return
	}
	f := &d.Cutoff
	if s.Given <= f.Settled {
		f.Settled, f.Peak = s.Given, size
	}
	length := min(stepFor(s.Last, d.Need, size, now.Sub(time.Unix(0, begins)), room), room)
	f.Before = begins + int64(length.Truncate(time.Minute))
	f.At, f.Size, f.Limit = now.UnixNano(), size, l.Bytes
	d.Raised = true
}

// stepFor returns the length of the next step. The first is a quarter of what would do if
// all times had as many bytes; each other is what would do if it yields as the one before,
// and no more than twice as long.
func stepFor(last Step, need, size int64, age, room time.Duration) time.Duration {
	var length float64
	switch {
	case last.Length <= 0:
		length = float64(need) / float64(max(size, 1)) * float64(age) / 4
	case last.Bytes <= 0:
		length = 2 * float64(last.Length)
	default:
		length = min(2, float64(need)/float64(last.Bytes)) * float64(last.Length)
	}
	return max(shortest, min(time.Duration(length), room/8))
}
