package compile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"varve.dev/varve/engine/capture"
)

// merge merges the wants of one or more groups for a PV, the oldest first. For each setting it
// uses the value that keeps more. If no value keeps more, as with providers and clocks, the
// oldest group decides. If any want is not paused, merge ignores paused wants, except for the
// retention: the stored data of a paused group must stay. decides is the oldest want that is
// not ignored. Two engines capture the PV if any want that is not ignored requests it.
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
	out.PauseReason = a.PauseReason
	out.MaxPeriod = shorter(a.MaxPeriod, b.MaxPeriod)
	keepEnabled(&out, a, b)
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

// These constants limit the fields and properties of a PV in several groups, because a channel
// list limits the size of settings. Each group may name 16 of them. If there are more than
// maxFields, the engine subscribes to all fields. If there are more than maxProperties, the
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
	a.Unchanged = a.Unchanged && b.Unchanged
	switch {
	case !hasDeadband(&a):
		a.Heartbeat = 0
	case a.Heartbeat == 0 || b.Heartbeat != 0:
		a.Heartbeat = shorter(a.Heartbeat, b.Heartbeat)
	}
	if a.MaxRate == 0 || b.MaxRate == 0 {
		a.MaxRate = 0
	} else {
		a.MaxRate = max(a.MaxRate, b.MaxRate)
	}
	return a
}

// shorter returns the shorter of two lengths of time; 0 means none.
func shorter(a, b time.Duration) time.Duration { return cmp.Or(min(a, b), a, b) }

// looser returns the wider of two limits; 0 means no limit.
func looser(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}
