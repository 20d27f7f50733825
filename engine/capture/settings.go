package capture

import (
	"slices"
	"strings"
	"time"

	"varve.dev/varve/engine/store"
)

// Provider is the protocol that a channel is captured by.
type Provider uint8

// Providers.
const (
	CA  Provider = iota // Channel Access
	PVA                 // pvAccess

	// NumProviders is the number of providers.
	NumProviders = int(iota)
)

var providerNames = [NumProviders]string{"ca", "pva"}

// String returns the name used in front of PVs: ca, pva.
func (p Provider) String() string { return providerNames[p] }

// Mode is how samples are taken from updates.
type Mode uint8

const (
	// Monitor keeps every update that the filters pass.
	Monitor Mode = iota
	// Scan keeps the value at each multiple of the period since 1970, so that two
	// engines choose the same samples.
	Scan
)

// Clock is whose time a sample gets.
type Clock uint8

const (
	// SourceClock is the IOC's.
	SourceClock Clock = iota
	// EngineClock is the engine's, at arrival.
	EngineClock
)

// ClockAction is what happens to a sample whose source time is further from its
// arrival than the limits.
type ClockAction uint8

const (
	// Restamp stores it under the engine's clock.
	Restamp ClockAction = iota
	// Refuse drops it, counted as sample.Clock.
	Refuse
)

// Settings are how a channel is sampled. They are comparable and shared by all
// channels of a class.
type Settings struct {
	Provider Provider
	// Fields of a pvAccess structure to archive, sorted and separated by commas;
	// empty means all. Alarm and time stamp come along. Properties are fields of the record, such as DESC,
	// whose values are kept with the metadata, sorted and separated by commas.
	Fields, Properties string

	Mode   Mode
	Period time.Duration // of Scan
	Events Events        // of Monitor; 0 means EventLog|EventAlarm

	// Deadbands: an update is dropped if it differs from the last stored value by
	// no more than Absolute, or by no more than Relative × |last stored value|.
	// 0 switches one off. Changes of alarm always pass.
	Absolute, Relative float64
	// MaxRate is the most samples per second of source time; 0 is no limit.
	MaxRate float64

	Clock Clock
	// Ahead and Behind limit how far the source time may be from the arrival;
	// 0 is no limit. The first sample after connecting is kept however old.
	Ahead, Behind time.Duration
	OnClock       ClockAction

	Paused bool

	// Retention says how long samples are kept once they are stored. The capture does
	// not depend on it.
	Retention store.Retention
}

// subscription returns the settings that need another subscription when they change.
func (s *Settings) subscription() Settings {
	return Settings{Provider: s.Provider, Events: s.Events, Fields: s.Fields}
}

// subscribedFields returns the fields of a structure to subscribe to.
func (s *Settings) subscribedFields() string {
	if s.Fields == "" {
		return ""
	}
	fields := strings.Split(s.Fields, ",")
	for _, always := range []string{"alarm", "timeStamp"} {
		if !slices.Contains(fields, always) {
			fields = append(fields, always)
		}
	}
	return strings.Join(fields, ",")
}

// subscribed returns the properties that need a subscription of their own. The
// description is a part of pvAccess metadata.
func (s *Settings) subscribed() (names []string) {
	if s.Paused || s.Properties == "" {
		return nil
	}
	for name := range strings.SplitSeq(s.Properties, ",") {
		if name != "DESC" || s.Provider != PVA {
			names = append(names, name)
		}
	}
	return names
}

// String returns the settings in the words of an ArchiveGroup.
func (s *Settings) String() string {
	if s.Mode == Scan {
		return "Scan " + s.Period.String()
	}
	return "Monitor"
}

// Channel is one PV to capture.
type Channel struct {
	PV       string // canonical
	Group    string // namespace/name of the ArchiveGroup that decides
	Settings *Settings
}

// Assignment is all that an engine is to capture: channels by shard. A shard
// that is not listed is not captured by this engine.
type Assignment map[int][]Channel
