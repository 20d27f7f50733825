package why

import (
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Facts are what is known of a PV. Times are in ns since 1970. A text named …Missing says why the facts after it are not known. It
// is empty if they are.
type Facts struct {
	// PV is the canonical name that was asked for, At the time in question, and Now the present time.
	PV      string
	At, Now int64

	// NamesMissing is about the other names. AliasOf is the PV that has the alias PV, or empty. Later are the PVs that had the
	// name PV before. FieldOf is the PV whose metadata have the field PV, or empty.
	NamesMissing string
	AliasOf      string
	Later        []string
	FieldOf      string

	// Status is the state of the channel if Captured is true.
	StatusMissing string
	Captured      bool
	Status        capture.Status

	// Groups are the groups of the archive. GroupsIncomplete says why some are missing from Groups, such as an invalid manifest.
	GroupsMissing, GroupsIncomplete string
	Groups                          []Group

	// Storage says why the engine that captures the PV cannot store samples. It is empty while it can.
	EngineMissing string
	Storage       string

	Stored
}

// Stored is what the store knows of a PV.
type Stored struct {
	StoreMissing string
	// Known means that the archive has the PV in its directory or in memory. Near are known names that are most like an unknown
	// name.
	Known bool
	Near  []string
	// Mark is the latest mark until At that says a state, if Marked is true.
	Marked bool
	Mark   sample.Mark
	// Entry is the directory entry of the PV. It is empty if there is none.
	Entry store.Channel
	// Expired is the time before which raw samples have expired, or 0 if none have. First is the beginning of the first bucket
	// with samples, or 0 if there is none.
	Expired, First int64
	// Loss is the mark of lost samples that covers At, if IsLost is true.
	IsLost bool
	Loss   sample.Mark
	// Cutoff is the time before which the disk guard deleted samples, or 0.
	Cutoff int64
	// Deleted is the deleted range that has At, if IsDeleted is true. Deletion is the text of its mark, or empty.
	IsDeleted bool
	Deleted   store.Deleted
	Deletion  string

	// Last is the time of the last sample until At, or 0 if there is none. CompleteUntil is the time until which no received
	// sample is missing from reads, or 0 if no sample is missing. Lost counts the samples in damaged blocks that Last may have
	// missed.
	ReadMissing   string
	Last          int64
	CompleteUntil int64
	Lost          uint64
}

// Group is an ArchiveGroup.
type Group struct {
	Name string // namespace/name
	// ExpiresAt is when the group ends, in ns since 1970. It is 0 if it does not.
	ExpiresAt int64
	// Errors are the problems of the whole group, and OfPV those of the PV.
	Errors, OfPV []string
	// Channels is how many channels engines capture for the group, and Connected how many of them are connected. Both are 0 if
	// that is not known.
	Channels, Connected int
}

// Answer says why a PV has no samples, or that it has them.
type Answer struct {
	// OK means that nothing keeps samples away: the archive has what the PV has sent.
	OK bool
	// Cause is the name of the one reason. It is empty if OK is true.
	Cause string
	// Since is when the cause began, or 0 if that is not known.
	Since int64
	// Text explains the cause to users, and Advice says what they can do.
	Text, Advice string
	// Step is the name of the step at which samples end. It is empty if OK is true.
	Step string
	// Last is the time of the last sample, or 0 if there is none, or if that is not known.
	Last  int64
	Steps []Step
}

// Step is a step on the way of a sample.
type Step struct {
	Name  string
	State State
	// Since is when the state began, or 0 if that is not known.
	Since int64
	Text  string
}

// State is the state of a step.
type State string

// The states of a step.
const (
	// Done means that samples pass the step.
	Done State = "ok"
	// Failed means that samples do not pass the step, or that some do not.
	Failed State = "problem"
	// Unknown means that the step could not be asked. Its text says why.
	Unknown State = "unknown"
	// Idle means that no sample reaches the step.
	Idle State = "idle"
)

// States are all states of a step.
func States() []string { return []string{string(Done), string(Failed), string(Unknown), string(Idle)} }

// The names of the steps, in the order of the way of a sample.
const (
	InGroup   = "group"
	Searched  = "search"
	Connected = "connect"
	Received  = "receive"
	Filtered  = "filter"
	Journaled = "journal"
	InStore   = "store"
	Kept      = "retention"
	Read      = "read"
)

// Names returns the names of the steps, in order.
func Names() []string {
	return []string{InGroup, Searched, Connected, Received, Filtered, Journaled, InStore, Kept, Read}
}
