package capture

import (
	"errors"
	"time"

	"varve.dev/varve/engine/sample"
)

// ErrAccessDenied is in the cause of Sink.Disconnected if the server denies read access.
var ErrAccessDenied = errors.New("the server denies read access")

// Source is a client of one protocol: engine/ca, engine/pva.
type Source interface {
	// Subscribe starts to search for a channel and monitors it whenever it is connected.
	// It returns at once. The sink is notified until the subscription is closed.
	Subscribe(name string, opts SubscribeOptions, sink Sink) Subscription
	// Reach says where the source searches for channels.
	Reach() Reach
	// Close ends all subscriptions and waits for the source's goroutines.
	Close() error
}

// Sources holds the source of each provider, or nil if there is none.
type Sources [NumProviders]Source

// Reach says where a source searches for channels.
type Reach struct {
	// Asked has the addresses that the source asks, for users. It is empty if there are none.
	Asked string
	// Problem says why searches may not reach all servers, and what the user can do. It is
	// empty if there is no problem.
	Problem string
}

// text explains to users why a channel is not found.
func (r Reach) text() string {
	text := "no server has answered; asked " + r.Asked
	if r.Asked == "" {
		text = "no server is asked"
	}
	if r.Problem != "" {
		text += "; " + r.Problem
	}
	return text
}

// SubscribeOptions are the filters that a protocol can apply at the server.
type SubscribeOptions struct {
	// Events are the requested event classes.
	Events Events
	// Fields are fields of a pvAccess structure, separated by commas; empty means all.
	Fields string
}

// Events is a set of Channel Access event classes (DBE_*).
type Events uint8

// Event classes, numbered as in EPICS base (caeventmask.h).
const (
	EventValue    Events = 1
	EventLog      Events = 2
	EventAlarm    Events = 4
	EventProperty Events = 8
)

// Subscription is one monitored channel.
type Subscription interface {
	// Close ends the subscription. No call of the sink begins after Close has returned.
	Close()
}

// Sink receives the events of a channel. A source calls its methods one at a time, from a
// goroutine that reads the network for many channels, so they must not block. A source
// calls Connected, then Sample any number of times, then Disconnected, and starts over. If
// only the type changes, it calls Connected again.
type Sink interface {
	// Connected reports that the channel was found and is monitored. The next sample is
	// the channel's value, regardless of its age.
	Connected(info ChannelInfo)
	// Sample delivers an update. s and its bytes are valid until it returns.
	Sample(s *sample.Sample)
	// Checked delivers the value that the source has read because no update has arrived since a
	// moment. It reports whether the value differs from the last sample. Then updates
	// may be lost, and the sink handles the value like an update. The source subscribes again.
	Checked(s *sample.Sample, since time.Time) (differs bool)
	// Metadata delivers the channel's metadata, after connecting and on changes.
	// The sink may keep m.
	Metadata(m *sample.Metadata)
	// Dropped reports that n updates were not delivered.
	Dropped(r sample.Reason, n uint64)
	// Suspect reports that the server may have dropped updates between two moments: the circuit
	// stalled, and the protocol does not report lost updates. The moments are from time.Now, with their
	// monotonic readings: the clock may have been set in between.
	Suspect(from, to time.Time)
	// Disconnected reports that no more updates arrive, or that a server was found but does not
	// provide the channel. cause explains it to users.
	Disconnected(cause error)
}

// ChannelInfo is what a source knows about a connected channel.
type ChannelInfo struct {
	// Type is the type of the samples that follow. It is Unknown if the source cannot
	// deliver values of the channel's type; TypeName then names that type.
	Type     sample.Type
	TypeName string
	// Count is the number of elements, 1 for a scalar.
	Count int
	// Host is the address of the IOC, as host:port.
	Host string
}
