package compile

import (
	"slices"
	"strings"
	"time"

	"varve.dev/varve/engine/capture"
)

// merge decides about a PV that one or more groups want, the oldest first. Each
// setting is the one that keeps more; where none does, as with providers and
// clocks, the oldest group's. A paused wish does not count beside one that is not.
// decides is the oldest wish that counts. Retention is that of all: what a paused
// group has stored is there to stay. Two engines capture
// the PV if any wish that counts says so.
func merge(wants []want) (merged class, decides want) {
	decides = wants[0]
	for _, w := range wants {
		if !w.settings.Paused {
			decides = w
			break
		}
	}
	merged = *decides.settings
	for _, w := range wants {
		if w.settings.Paused == merged.Paused {
			merged.Settings = keepMore(merged.Settings, w.settings.Settings)
			merged.twice = merged.twice || w.settings.twice
		}
		merged.Retention = keepLonger(merged.Retention, w.settings.Retention)
	}
	return merged, decides
}

// keepMore returns settings that store whatever a or b would. a is of the older
// group.
func keepMore(a, b capture.Settings) capture.Settings {
	out := keepMoreSamples(a, b)
	out.Provider, out.Fields = a.Provider, a.Fields
	out.Events = a.Events | b.Events
	if a.Provider == b.Provider {
		out.Fields = allFields(a.Fields, b.Fields)
	}
	out.Properties = a.Properties
	if both := join(a.Properties, b.Properties); len(both) <= maxProperties {
		out.Properties = strings.Join(both, ",")
	}
	out.Clock = a.Clock
	out.Ahead, out.Behind, out.OnClock = 0, 0, capture.Restamp
	if out.Clock == capture.SourceClock {
		out.Ahead, out.Behind, out.OnClock = a.Ahead, a.Behind, a.OnClock
		if b.Clock == capture.SourceClock {
			out.Ahead, out.Behind = looser(a.Ahead, b.Ahead), looser(a.Behind, b.Behind)
			out.OnClock = min(a.OnClock, b.OnClock) // Restamp keeps the sample
		}
	}
	return out
}

// Most names of a PV in several groups, each of which may give 16: a channel list
// bounds the size of settings. With more fields, all are subscribed to; more
// properties than the oldest groups' are left out.
const (
	maxFields     = 16
	maxProperties = 64
)

// allFields returns the fields of both, of which none means all.
func allFields(a, b string) string {
	both := join(a, b)
	if a == "" || b == "" || len(both) > maxFields {
		return ""
	}
	return strings.Join(both, ",")
}

// join returns the names that are in either of two lists, separated by commas;
// sorted.
func join(a, b string) []string {
	all := strings.FieldsFunc(a+","+b, func(r rune) bool { return r == ',' })
	slices.Sort(all)
	return slices.Compact(all)
}

// keepMoreSamples merges mode, period, deadband and rate.
func keepMoreSamples(a, b capture.Settings) capture.Settings {
	switch {
	case a.Mode != b.Mode && a.Mode == capture.Scan:
		return b // Monitor sees every update
	case a.Mode != b.Mode:
		return a
	case a.Mode == capture.Scan:
		a.Period = min(a.Period, b.Period)
		return a
	}
	a.Absolute = min(a.Absolute, b.Absolute) // 0 is off, which keeps all
	a.Relative = min(a.Relative, b.Relative)
	if a.MaxRate == 0 || b.MaxRate == 0 {
		a.MaxRate = 0
	} else {
		a.MaxRate = max(a.MaxRate, b.MaxRate)
	}
	return a
}

// looser returns the wider of two limits, of which 0 is none.
func looser(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}
