package sample

import "fmt"

// Reason says why a sample that was received is not in the archive. The first
// group, and Expired, is what the user asked for; the others are loss.
type Reason uint8

// Reasons. The numbers are stored in marks.
const (
	// Deadband: the value was within the deadband of the one stored before.
	Deadband Reason = iota
	// Rate: more samples than maxRate in a slot of source time.
	Rate
	// Scan: an update between two scan times.
	Scan
	// Duplicate: the same sample again, as after a reconnect.
	Duplicate
	// Clock: the source time was outside the limits, and the group refuses such.
	Clock
	// Overflow: the store was away for longer than memory lasted.
	Overflow
	// TooLarge: one value larger than a stored row may be.
	TooLarge
	// Overrun: the IOC's own queue dropped updates before they were sent.
	Overrun
	// Unsupported: a value of a type that cannot be archived yet.
	Unsupported
	// Malformed: bytes that do not decode.
	Malformed
	// Expired: older than its group keeps samples, when it was to be put into a block.
	Expired

	// NumReasons is the number of reasons.
	NumReasons = int(iota)
)

var reasonNames = [NumReasons]string{
	"deadband", "rate", "scan", "duplicate", "clock", "overflow", "too_large", "overrun", "unsupported", "malformed",
	"expired",
}

// String returns the name used in metrics and APIs.
func (r Reason) String() string {
	if int(r) < NumReasons {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// Loss reports whether a drop for this reason loses something the user asked to
// keep, so that it is marked in the archive.
func (r Reason) Loss() bool { return r >= Clock && r != Expired }

// MarkKind is what a Mark tells.
type MarkKind uint8

// Kinds of marks. The numbers are stored.
const (
	// Connected: updates flow from Time on.
	Connected MarkKind = iota + 1
	// Disconnected: none from Time on.
	Disconnected
	// Paused and Resumed: the group was paused, or is captured again.
	Paused
	Resumed
	// Lost: Count samples from Time to End are missing, for Reason.
	Lost
	// TypeChanged: values from Time on have another type.
	TypeChanged
	// Died: the writer that captured the channel ended without closing; from
	// Time (its last sign of life) to End (the takeover) samples may be missing.
	Died
)

var markNames = [...]string{
	Connected: "connected", Disconnected: "disconnected", Paused: "paused", Resumed: "resumed",
	Lost: "lost", TypeChanged: "type_changed", Died: "died",
}

// String returns the name used in APIs.
func (k MarkKind) String() string {
	if int(k) < len(markNames) && markNames[k] != "" {
		return markNames[k]
	}
	return fmt.Sprintf("mark(%d)", uint8(k))
}

// Mark records why there is no data, or why data changed its nature.
type Mark struct {
	// Time and End are in nanoseconds since 1970; End is 0 for a point in time.
	Time, End int64
	Kind      MarkKind
	Reason    Reason // of Lost
	Count     uint64 // of Lost
	Text      string // for people: an address, a type, an error
}
