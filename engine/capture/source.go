package capture

import (
	"varve.dev/varve/engine/sample"
)

// Source is a client of one protocol: engine/ca, engine/pva.
type Source interface {
	// Subscribe starts to search for a channel and, whenever it is connected,
	// to monitor it. It returns at once; what happens is told to the sink, until
	// the subscription is closed.
	Subscribe(name string, opts SubscribeOptions, sink Sink) Subscription
	// Close ends all subscriptions and waits for the source's goroutines.
	Close() error
}

// Sources are the sources by provider; nil where there is none.
type Sources [NumProviders]Source

// SubscribeOptions are what a protocol can filter at the server.
type SubscribeOptions struct {
	// Events are the event classes to ask for.
	Events Events
	// Fields of a pvAccess structure, separated by commas; empty means all.
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
	// Close ends the subscription. No call of the sink begins after it returned.
	Close()
}

// Sink takes what a source has to tell of a channel. Its methods are called one
// at a time, from a goroutine that reads the network for many channels: they
// must not block. A source calls Connected, then Sample any number of times,
// then Disconnected; and again. If only the type changes, it calls Connected
// once more.
type Sink interface {
	// Connected says that the channel was found and is monitored. The first
	// sample that follows is the channel's value, however old it is.
	Connected(info ChannelInfo)
	// Sample delivers an update. s and its bytes are valid until it returns.
	Sample(s *sample.Sample)
	// Metadata delivers the channel's metadata, after connecting and on changes.
	// The sink may keep m.
	Metadata(m *sample.Metadata)
	// Dropped says that n updates were not delivered.
	Dropped(r sample.Reason, n uint64)
	// Suspect says that the server may have dropped updates unseen between two
	// times, in ns since 1970: the circuit stalled, and the protocol does not tell.
	Suspect(from, to int64)
	// Disconnected says that no updates come any more; cause is for people.
	Disconnected(cause error)
}

// ChannelInfo is what a source knows of a channel that connected.
type ChannelInfo struct {
	// Type of the samples that follow; Unknown if the source can not deliver
	// values of the channel's type, which TypeName then names.
	Type     sample.Type
	TypeName string
	// Count is the number of elements, 1 for a scalar.
	Count int
	// Host is the address of the IOC, as host:port.
	Host string
}
