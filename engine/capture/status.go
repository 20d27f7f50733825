package capture

import (
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// State is the state of a channel.
type State uint8

// States of a channel.
const (
	// Searching means that the channel has not connected since this engine captures it.
	Searching State = iota
	// Connected means that the channel is monitored.
	Connected
	// Disconnected means that the channel was connected before.
	Disconnected
	// Unsupported means that the channel is connected, but its type cannot be archived.
	Unsupported
	// Paused means that the channel's group is paused.
	Paused
	// Disabled means that the condition on another PV that enables the channel is not met.
	Disabled

	// NumStates is the number of states.
	NumStates = int(iota)
)

var stateNames = [NumStates]string{"searching", "connected", "disconnected", "unsupported", "paused", "disabled"}

// String returns the name used in APIs.
func (s State) String() string { return stateNames[s] }

// maxLast is the largest value in a Status, in bytes. Lists of statuses are long.
const maxLast = 4 << 10

// MissingProperty is a field of the record that is kept with the metadata but has no value.
type MissingProperty struct {
	Name  string `json:"name"`
	Cause string `json:"cause"` // why it has no value
}

// Update is the latest update that a channel received, whether it was kept or not.
type Update struct {
	// Arrived is when the update arrived, in ns since 1970. It is 0 if none has arrived since the engine began to capture
	// the channel.
	Arrived int64 `json:"arrived"`
	// Time is the time stamp of the update, in ns since 1970. It is that of the IOC.
	Time int64 `json:"time"`
	// First means that the update is the first one since the channel connected, so its time may be long ago.
	First bool `json:"first,omitempty"`
	// Dropped means that the update was not kept, for Reason.
	Dropped bool          `json:"dropped,omitempty"`
	Reason  sample.Reason `json:"reason,omitempty"`
}

// drop notes that the update was not kept.
func (u *Update) drop(r sample.Reason) { u.Dropped, u.Reason = true, r }

// Status is a snapshot of one channel, for users and APIs.
type Status struct {
	PV       string
	Group    string // namespace/name of the ArchiveGroup whose settings are used
	Provider Provider
	State    State
	// Since is when the state began, ns since 1970.
	Since int64
	// Cause says why no samples of the channel arrive. It is empty if the channel is connected.
	Cause string
	// Absent is the kind of the cause, as of a mark: Searching, Refused, AccessDenied,
	// Disconnected, Paused or Disabled. It is 0 if the channel is connected or unsupported. AbsentSince is
	// when the cause began, ns since 1970.
	Absent      sample.MarkKind
	AbsentSince int64
	// EnabledBy says whether another PV enables the channel, for users. It is empty if no condition
	// applies to the channel.
	EnabledBy string
	// Silent means that the channel is connected, but no value has arrived since it connected a
	// while ago.
	Silent bool
	// Missing has the properties without a value.
	Missing []MissingProperty
	Host    string
	// Engine is the name of the engine that captures the channel. It is empty in a process that knows
	// only its own channels.
	Engine string
	// Type is the type of the samples. It is Unknown before the first connection, and if
	// values of the channel's type, TypeName, cannot be archived.
	Type     sample.Type
	TypeName string
	Count    int
	// Sampling describes the settings in force for users: "Monitor", "Scan 10s".
	Sampling  string
	Retention store.Retention
	// Filters describes the settings that drop updates, for users: "deadband 0.01". It is empty if there are none.
	Filters string
	// Update is the latest update.
	Update Update
	// Rate is the number of samples received per second, smoothed over about half a minute. It is
	// 0 while the channel is not connected.
	Rate float64
	// Connects counts connections; LostConnections counts those that were lost.
	Connects, LostConnections uint64
	// Received equals Stored + samples in memory + the sum of Dropped. If this engine
	// seals expired samples, they move from Stored to Dropped.
	Received, Stored uint64
	Dropped          [sample.NumReasons]uint64
	// Suspected counts the times that the IOC may have dropped updates without reporting
	// it. Dropped[sample.Overrun] does not include these updates.
	Suspected uint64
	// Last is the latest accepted sample; HasLast is false before the first. A value of
	// more than 4 KiB is omitted, with the tag sample.Elsewhere.
	HasLast  bool
	Last     sample.Sample
	Metadata *sample.Metadata
}

// Kept returns the number of samples that were received and not dropped.
func (s *Status) Kept() uint64 {
	var dropped uint64
	for _, n := range s.Dropped {
		dropped += n
	}
	return s.Received - min(s.Received, dropped)
}

// sampleOverhead is the size of a sample without its value, in bytes: its time and its alarm.
const sampleOverhead = 12

// StorageRate estimates the bytes per second that the samples of the channel have before
// compression, from the rate of samples, the fraction that is kept, and the size of the last value.
func (s *Status) StorageRate() float64 {
	if s.Received == 0 {
		return 0
	}
	size := max(s.Type.ElemSize(), 1) * max(s.Count, 1)
	if s.HasLast && s.Last.Tag&sample.Elsewhere == 0 && !s.Type.Fixed() {
		size = len(s.Last.Bytes)
	}
	return s.Rate * float64(s.Kept()) / float64(s.Received) * float64(size+sampleOverhead)
}
