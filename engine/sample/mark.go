package sample

import "fmt"

// Reason says why a received sample is not in the archive. Reasons before Clock, Expired and
// ConditionUnmet follow from what the user requested. The other reasons are losses.
type Reason uint8

// Reasons. The numbers are stored in marks.
const (
	// Deadband means that the value was within the deadband of the last stored value.
	Deadband Reason = iota
	// Rate means that there were more samples than maxRate in a slot of source time.
	Rate
	// Scan means that the update came between two scan times.
	Scan
	// Duplicate means that the source sent the same sample again, as after a reconnect.
	Duplicate
	// Clock means that the source time was outside the limits and the group refuses it.
	Clock
	// Overflow means that memory or the spool was full because the store was unreachable.
	Overflow
	// TooLarge means that the value is larger than a stored row may be.
	TooLarge
	// Overrun means that the IOC's own queue dropped updates before they were sent.
	Overrun
	// Unsupported means that values of this type cannot be archived.
	Unsupported
	// Malformed means that the bytes do not decode.
	Malformed
	// Expired means that the sample was older than its retention when it was sealed, or that a user has deleted the
	// samples of its time.
	Expired
	// Damaged means that the bytes in which the sample is stored cannot be read any more.
	Damaged
	// ConditionUnmet means that the condition on another PV, by which the group enables the capture, was
	// not met.
	ConditionUnmet

	// NumReasons is the number of reasons.
	NumReasons = int(iota)
)

var reasonNames = [NumReasons]string{
	"deadband", "rate", "scan", "duplicate", "clock", "overflow", "too_large", "overrun", "unsupported", "malformed",
	"expired", "damaged", "condition_unmet",
}

// String returns the name used in metrics and APIs.
func (r Reason) String() string {
	if int(r) < NumReasons {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// Loss reports whether a drop for this reason loses a sample that the user wanted to
// keep. The archive marks losses.
func (r Reason) Loss() bool { return r >= Clock && r != Expired && r != ConditionUnmet }

// MarkKind is the kind of a Mark.
type MarkKind uint8

// Kinds of marks. The numbers are stored.
const (
	// Connected means that updates arrive from Time on.
	Connected MarkKind = iota + 1
	// Disconnected means that no updates arrive from Time on.
	Disconnected
	// Paused and Resumed mean that the capture of the group was paused or continued.
	Paused
	Resumed
	// Lost means that Count samples from Time to End are missing for Reason.
	Lost
	// TypeChanged means that values from Time on have another type.
	TypeChanged
	// Died means that the writer that captured the channel ended without closing its claim. Samples may be
	// missing between Time and End. All its samples from before Time are durable, and from End on the writer
	// counted as dead. Time is the earliest that it may be, and End the latest, because the clocks of engines
	// may be wrong.
	Died
	// Searching means that the client has searched for the channel since Time and no server
	// has answered. Text has the addresses that it asks.
	Searching
	// Refused means that a server has answered for the channel since Time but does not provide
	// it. Text has the server and its reason.
	Refused
	// AccessDenied means that the server has denied read access since Time.
	AccessDenied
	// Removed means that the channel has been in no group since Time. Text is the last group.
	Removed
	// Stopped means that the archiver stopped in an orderly way at Time. After the next start,
	// Connected, Paused, Searching, Refused or AccessDenied follows.
	Stopped
	// Disabled means that the channel has not been captured since Time, because the condition on another
	// PV that enables it is not met. Text explains it to users. Connected follows when the capture
	// continues, or the reason why the channel is not connected then.
	Disabled
	// SamplesDeleted means that a user has deleted the samples from Time to End. Text is the group, the reason, and
	// the time of the deletion.
	SamplesDeleted

	lastKind = SamplesDeleted

	// 15 is the kind of the marks in which package names stores former names and aliases. No PV has such a mark.
)

var markNames = [...]string{
	Connected: "connected", Disconnected: "disconnected", Paused: "paused", Resumed: "resumed",
	Lost: "lost", TypeChanged: "type_changed", Died: "died",
	Searching: "searching", Refused: "refused", AccessDenied: "access_denied", Removed: "removed", Stopped: "stopped",
	Disabled:       "disabled",
	SamplesDeleted: "deleted",
}

// String returns the name used in APIs.
func (k MarkKind) String() string {
	if int(k) < len(markNames) && markNames[k] != "" {
		return markNames[k]
	}
	return fmt.Sprintf("mark(%d)", uint8(k))
}

// Valid reports whether this program knows the kind.
func (k MarkKind) Valid() bool { return k >= Connected && k <= lastKind }

// IsState reports whether the kind says if updates of a channel arrive from the time of the
// mark on. The other kinds say what happened at or until a time.
func (k MarkKind) IsState() bool {
	return k.Valid() && k != Lost && k != TypeChanged && k != SamplesDeleted
}

// Delivers reports whether updates of a channel arrive from the time of the mark on.
func (k MarkKind) Delivers() bool { return k == Connected }

// Mark records why there are no samples, or why their type changed.
type Mark struct {
	// Time and End are in nanoseconds since 1970; End is 0 for a point in time. They are compared with the
	// times of samples, so they come from clock.Instant.Begin and End, or from samples.
	Time, End int64
	Kind      MarkKind
	Reason    Reason // of Lost
	Count     uint64 // of Lost
	Text      string // for users: an address, a type, an error
}

// Ordered returns the mark with its bounds in order: from the earlier to the later one. The bounds of a
// mark may come from different clocks, or from a clock that was set in between. Then nobody knows which
// of them is wrong, and the mark covers the time between both.
func (m Mark) Ordered() Mark {
	if m.End != 0 && m.End < m.Time {
		m.Time, m.End = m.End, m.Time
	}
	return m
}
