package guard

import (
	"cmp"
	"time"

	"varve.dev/varve/engine/store"
)

// Limits are the size and age limits that the guard enforces.
type Limits struct {
	// Bytes is the maximum size of the archive; 0 means no limit.
	Bytes int64
	// High and Low are fractions of Bytes. Deletion begins at High and ends at Low.
	High, Low float64
	// Youngest is the minimum age of samples that may be deleted.
	Youngest time.Duration
	// WarnOnly means that the guard reports that the limit is near, and deletes nothing.
	WarnOnly bool
	// Readings is the number of successive sizes of which the guard uses the smallest. A
	// compaction, a repair or a node that streams makes the archive larger for some time.
	Readings int
	// Pause is the minimum time between two steps of the cutoff.
	Pause time.Duration
}

// Defaults of Limits, and the minimum of Youngest.
const (
	defaultHigh     = 0.90
	defaultLow      = 0.85
	defaultReadings = 15
	defaultPause    = 10 * time.Minute
	dayLong         = 24 * time.Hour
)

func (l *Limits) setDefaults() {
	l.High, l.Low = cmp.Or(l.High, defaultHigh), cmp.Or(l.Low, defaultLow)
	l.Readings, l.Pause = cmp.Or(l.Readings, defaultReadings), cmp.Or(l.Pause, defaultPause)
	l.Youngest = max(l.Youngest, dayLong)
}

func (l *Limits) high() int64 { return int64(l.High * float64(l.Bytes)) }
func (l *Limits) low() int64  { return int64(l.Low * float64(l.Bytes)) }

// State is the known state of an archive.
type State struct {
	// Cutoff is the current cutoff, or the zero value if nothing was ever deleted.
	Cutoff store.Cutoff
	// Deleted is the number of bytes that all shards have deleted since the archive began.
	Deleted int64
	// Behind is the number of shards that have not followed the cutoff yet.
	Behind int
	// Begins is the approximate time of the oldest raw samples, in ns since 1970.
	Begins int64
	// Last is the latest step, or zero if this engine did not take it.
	Last Step
	// Unsettled means that too few sizes are known to delete anything.
	Unsettled bool
	// Left is the time in which the archive reaches the high-water mark if it grows as before, or
	// 0 if that is unknown or far away.
	Left time.Duration
}

// Step is how far the cutoff was raised, and how many bytes that deleted.
type Step struct {
	Length time.Duration
	Bytes  int64
}

// Reason is a machine-readable reason for what the guard does.
type Reason string

// Reasons.
const (
	// NoLimit means that no limit is set, or none is known.
	NoLimit Reason = "NoLimit"
	// BelowLimit means that the archive is below the high-water mark.
	BelowLimit Reason = "BelowLimit"
	// NearLimit means that the archive is below the high-water mark, and reaches it within a few
	// days if it grows as before.
	NearLimit Reason = "NearLimit"
	// Measuring means that the archive is above the high-water mark, and that the guard waits for
	// more readings of its size before it deletes anything.
	Measuring Reason = "Measuring"
	// OnlyWarning means that the archive is above the high-water mark, and that the guard must not
	// delete anything.
	OnlyWarning Reason = "OnlyWarning"
	// Dropping means that old raw samples are being deleted.
	Dropping Reason = "Dropping"
	// WaitingForRoom means that enough was deleted, but the space is not free yet.
	WaitingForRoom Reason = "WaitingForRoom"
	// NothingLeft means that everything that may be deleted is deleted.
	NothingLeft Reason = "NothingLeft"
	// SizeUnknown means that the store does not report the archive's size, so nothing is
	// deleted.
	SizeUnknown Reason = "SizeUnknown"
)

// Decision is the guard's decision after one inspection of the archive.
type Decision struct {
	Reason Reason
	// Cutoff must be written if it differs from the cutoff in the state. Raised means that it
	// rises.
	Cutoff store.Cutoff
	Raised bool
	// Waiting is the number of deleted bytes that are not free yet. Need is the number of
	// bytes that still have to be deleted.
	Waiting, Need int64
}

const (
	// shortest is the minimum length of a step.
	shortest = time.Hour
	// toleratedShare limits the deleted bytes that may never show up as free space: at most
	// one part in toleratedShare, because sizes are not exact.
	toleratedShare = 10
)

// Decide decides what to do about an archive of the given size.
func Decide(s State, l Limits, size int64, now time.Time) Decision {
	d := Decision{Reason: NoLimit, Cutoff: s.Cutoff}
	if l.Bytes <= 0 {
		return d
	}
	d.account(&s, size)
	future := size - d.Waiting
	above := future >= l.high()
	d.open(above && !s.Unsettled && !l.WarnOnly, future <= l.low() || l.WarnOnly)
	switch {
	case above && l.WarnOnly:
		d.Reason = OnlyWarning
	case s.Unsettled && (above || d.Cutoff.Open):
		d.Reason = Measuring
	case d.Cutoff.Open:
		d.Need = future - l.low()
		d.raise(&s, &l, size, now)
	case d.Waiting > 0 && size > l.low():
		d.Reason = WaitingForRoom
	case s.Left > 0:
		d.Reason = NearLimit
	default:
		d.Reason = BelowLimit
	}
	return d
}

// open begins or ends the deletion.
func (d *Decision) open(begin, end bool) {
	switch {
	case begin:
		d.Cutoff.Open = true
	case end:
		d.Cutoff.Open = false
	}
}

// account computes how many of the deleted bytes are not free yet.
func (d *Decision) account(s *State, size int64) {
	f := &d.Cutoff
	deleted := max(0, s.Deleted-f.Settled)
	if deleted == 0 {
		return
	}
	f.Peak = max(f.Peak, size)
	d.Waiting = max(0, deleted-(f.Peak-size))
	if s.Behind == 0 && d.Waiting <= deleted/toleratedShare {
		d.Waiting, f.Settled, f.Peak = 0, s.Deleted, size
	}
}

// raise raises the cutoff, unless shards still follow the previous step, or that step was too
// recent: the sizes measured since then may not show its effect.
func (d *Decision) raise(s *State, l *Limits, size int64, now time.Time) {
	d.Reason = Dropping
	if s.Behind > 0 || now.Sub(time.Unix(0, s.Cutoff.At)).Abs() < l.Pause {
		return
	}
	begins, ceiling := max(s.Begins, s.Cutoff.Before), now.Add(-l.Youngest).UnixNano()
	room := time.Duration(ceiling - begins)
	if room < shortest {
		d.Reason = NothingLeft
		return
	}
	f := &d.Cutoff
	if s.Deleted <= f.Settled {
		f.Settled, f.Peak = s.Deleted, size
	}
	length := min(stepFor(s.Last, d.Need, size, now.Sub(time.Unix(0, begins)), room), room)
	f.Before = begins + int64(length.Truncate(time.Minute))
	f.At, f.Size, f.Limit = now.UnixNano(), size, l.Bytes
	d.Raised = true
}

// stepFor returns the length of the next step. The first step is a quarter of the length that
// would be enough if the bytes were evenly spread over time. Each later step assumes the yield
// of the previous one and is at most twice as long.
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
