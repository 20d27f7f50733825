package capture

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"varve.dev/varve/engine/store"
)

// Provider is the protocol through which a channel is captured.
type Provider uint8

// Providers.
const (
	CA  Provider = iota // Channel Access
	PVA                 // pvAccess

	// NumProviders is the number of providers.
	NumProviders = int(iota)
)

var providerNames = [NumProviders]string{"ca", "pva"}

// String returns the prefix of PV names that selects the provider: ca or pva.
func (p Provider) String() string { return providerNames[p] }

// Mode is how samples are chosen from updates.
type Mode uint8

const (
	// Monitor keeps every update that the filters pass.
	Monitor Mode = iota
	// Scan keeps the value at each multiple of the period since 1970, so that two engines
	// choose the same samples.
	Scan
)

// Clock is the clock that gives a sample its time.
type Clock uint8

const (
	// SourceClock is the IOC's clock.
	SourceClock Clock = iota
	// EngineClock is the engine's clock at the arrival of the sample.
	EngineClock
)

// ClockAction is what happens to a sample whose source time is further from its arrival
// than the limits allow.
type ClockAction uint8

const (
	// Restamp stores the sample with the engine's time.
	Restamp ClockAction = iota
	// Refuse drops the sample and counts it as sample.Clock.
	Refuse
)

// Settings define how a channel is sampled. They are comparable, and all channels of a
// class share them.
type Settings struct {
	Provider Provider
	// Fields are the fields of a pvAccess structure to archive, sorted and separated by
	// commas; empty means all. Alarm and time stamp are always included. Properties are
	// fields of the record, such as DESC, whose values are kept with the metadata. They are
	// also sorted and separated by commas.
	Fields, Properties string

	Mode   Mode
	Period time.Duration // of Scan
	Events Events        // of Monitor; 0 means EventLog|EventAlarm

	// Absolute and Relative are deadbands: an update is dropped if it differs from the
	// last stored value by at most Absolute, or by at most Relative × |last stored value|.
	// 0 switches a deadband off. Alarm changes always pass.
	Absolute, Relative float64
	// Unchanged drops an update whose value equals the last stored value in every bit. Heartbeat is
	// the length of intervals, counted from 1970 in the samples' own time. The first update in each
	// interval passes the deadbands. 0 means that there are no intervals.
	Unchanged bool
	Heartbeat time.Duration
	// MaxPeriod is the length of intervals, which begin at multiples of it since 1970. If an interval has no sample, the
	// engine reads the value, and stores it with the beginning of the interval as its time. It does not if MaxPeriod is 0.
	MaxPeriod time.Duration
	// MaxRate is the maximum number of samples per second of the samples' own time; 0 means no
	// limit.
	MaxRate float64

	Clock Clock
	// Ahead and Behind limit the distance of the source time from the arrival; 0 means no
	// limit. The first sample after connecting is kept regardless of its age.
	Ahead, Behind time.Duration
	OnClock       ClockAction

	// Paused means that the channel is not captured. PauseReason says why, for users; it is empty if the
	// group, a rule or the channel is simply paused.
	Paused      bool
	PauseReason string

	// EnabledBy enables the channel by the value of another PV: the name of that PV, prefixed with its provider, a
	// space, and a condition in the language of package condition, such as ca://SR:BEAM != 0. Samples are kept
	// only while the condition is met. It is empty if the channel is always enabled.
	EnabledBy string

	// Retention defines how long stored samples are kept. It does not affect the capture.
	Retention store.Retention
}

// subscription returns the settings that require a new subscription when they change.
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

// subscribed returns the properties that need subscriptions of their own. pvAccess
// metadata already contains the description.
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

// String returns the settings in the terms of an ArchiveGroup.
func (s *Settings) String() string {
	if s.Mode == Scan {
		return "Scan " + s.Period.String()
	}
	return "Monitor"
}

// Filters describes the settings that drop updates, in the terms of an ArchiveGroup. It returns "" if there are none.
func (s *Settings) Filters() string {
	var parts []string
	add := func(applies bool, text string, args ...any) {
		if applies {
			parts = append(parts, fmt.Sprintf(text, args...))
		}
	}
	add(s.Absolute > 0, "deadband %g", s.Absolute)
	add(s.Relative > 0, "deadband %g %%", 100*s.Relative)
	add(s.Unchanged, "unchanged values are dropped")
	add(s.Heartbeat > 0, "an update passes the deadbands in each %v", s.Heartbeat)
	add(s.MaxRate > 0, "at most %g samples/s", s.MaxRate)
	add(s.MaxPeriod > 0, "at least one sample in each %v", s.MaxPeriod)
	if s.Clock == SourceClock && s.OnClock == Refuse {
		add(s.Ahead > 0, "time stamps more than %v ahead are refused", s.Ahead)
		add(s.Behind > 0, "time stamps more than %v behind are refused", s.Behind)
	}
	return strings.Join(parts, ", ")
}

// Channel is one PV to capture.
type Channel struct {
	PV       string // canonical name
	Group    string // namespace/name of the ArchiveGroup whose settings are used
	Settings *Settings
	// Names are the other names of the PV. It is nil if there are none.
	Names *Names
}

// Names are other names of a PV, in canonical form. The caller must not change them.
type Names struct {
	// Former are the names that the PV had before.
	Former []string
	// Aliases are other names that the PV has now.
	Aliases []string
}

// Equal reports whether two sets of names are equal. Nil is a set without names.
func (n *Names) Equal(o *Names) bool {
	if n == nil || o == nil {
		return n == o
	}
	return slices.Equal(n.Former, o.Former) && slices.Equal(n.Aliases, o.Aliases)
}

// Assignment holds all channels that an engine captures, by shard. The engine does not
// capture shards that are not listed.
type Assignment map[int][]Channel
