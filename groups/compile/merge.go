package compile

import (
	"slices"
	"strings"
	"time"

	"varve.dev/varve/engine/capture"
)

// merge merges the wants of one or more groups for a PV, the oldest first. Of each setting it
// takes the value that keeps more. Where neither does, as with providers and clocks, the
// oldest group decides. If any want is not paused, paused wants do not count; decides is the
// oldest want that counts. Two engines capture the PV if any want that counts asks for it.
// The retention includes paused wants, because the stored data of a paused group must stay.
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

// keepMore returns settings that store everything that a or b would store. a belongs to the older
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

// Limits for a PV in several groups, each of which may name 16: a channel list limits the size
// of settings. Beyond maxFields the engine subscribes to all fields; beyond maxProperties the
// properties of younger groups are left out.
const (
	maxFields     = 16
	maxProperties = 64
)

// allFields returns the union of both lists of fields. An empty list means all fields.
func allFields(a, b string) string {
	both := join(a, b)
	if a == "" || b == "" || len(both) > maxFields {
		return ""
	}
	return strings.Join(both, ",")
}

// join returns the sorted union of two comma-separated lists.
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
	a.Absolute = min(a.Absolute, b.Absolute) // 0 is off and keeps everything
	a.Relative = min(a.Relative, b.Relative)
	if a.MaxRate == 0 || b.MaxRate == 0 {
		a.MaxRate = 0
	} else {
		a.MaxRate = max(a.MaxRate, b.MaxRate)
	}
	return a
}

// looser returns the wider of two limits; 0 means no limit.
func looser(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}
