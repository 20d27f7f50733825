package capture

import (
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// State is where a channel is in its life.
type State uint8

// States of a channel.
const (
	// Searching: never connected since the engine took the channel.
	Searching State = iota
	// Connected: updates flow.
	Connected
	// Disconnected: was connected before.
	Disconnected
	// Unsupported: connected, but values of its type can not be archived.
	Unsupported
	// Paused by its group.
	Paused

	// NumStates is the number of states.
	NumStates = int(iota)
)

var stateNames = [NumStates]string{"searching", "connected", "disconnected", "unsupported", "paused"}

// String returns the name used in APIs.
func (s State) String() string { return stateNames[s] }

// maxLast is the largest value in a Status, in bytes: lists of them are long.
const maxLast = 4 << 10

// Status is a snapshot of one channel for people and APIs.
type Status struct {
	PV       string
	Group    string // namespace/name of the ArchiveGroup whose settings are used
	Provider Provider
	State    State
	// Since is when the state began, ns since 1970.
	Since int64
	// Cause says why the channel is not connected, if known.
	Cause string
	Host  string
	// Type of the samples; Unknown before the first connection, and if values of
	// the channel's type, which TypeName is, can not be archived.
	Type     sample.Type
	TypeName string
	Count    int
	// Settings in force, for people: "Monitor", "Scan 10s".
	Sampling  string
	Retention store.Retention
	// Rate is the samples/s received, smoothed over about a minute.
	Rate float64
	// Connects counts the times the channel connected; LostConnections how
	// often it was lost.
	Connects, LostConnections uint64
	// Received = Stored + pending in memory + the sum of Dropped. Expired samples
	// leave Stored, if this engine seals them.
	Received, Stored uint64
	Dropped          [sample.NumReasons]uint64
	// Suspected counts the times that the IOC may have dropped updates unseen,
	// which Dropped[sample.Overrun] does not have.
	Suspected uint64
	// Last is the latest sample accepted; HasLast is false before the first. A value
	// of more than 4 KiB is left out, with sample.Elsewhere.
	HasLast  bool
	Last     sample.Sample
	Metadata *sample.Metadata
}
