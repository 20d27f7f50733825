package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/groups/compile"
)

// differences returns the settings of a PV that differ, in the order of texts.
func differences(old, now place, archive compile.Archive) (out []Setting) {
	a, b := archive.Replicas(old.shard), archive.Replicas(now.shard)
	if a != b {
		out = append(out, Setting{"redundancy", strconv.Itoa(a), strconv.Itoa(b)})
	}
	if !old.Names.Equal(now.Names) {
		out = append(out, namesDiffer(old.Names, now.Names)...)
	}
	if old.Settings == now.Settings || *old.Settings == *now.Settings {
		return out
	}
	from, to := texts(old.Settings), texts(now.Settings)
	for i := range from {
		if from[i].value != to[i].value {
			out = append(out, Setting{from[i].name, from[i].value, to[i].value})
		}
	}
	return out
}

// Words of manifests, by value.
var (
	modes   = []string{capture.Monitor: "Monitor", capture.Scan: "Scan"}
	clocks  = []string{capture.SourceClock: "Source", capture.EngineClock: "Engine"}
	actions = []string{capture.Restamp: "Restamp", capture.Refuse: "Refuse"}
	events  = []struct {
		bit  capture.Events
		word string
	}{{capture.EventLog, "Log"}, {capture.EventAlarm, "Alarm"}, {capture.EventValue, "Value"}}
)

func eventsOf(set capture.Events) string {
	var out []string
	for _, e := range events {
		if set&e.bit != 0 {
			out = append(out, e.word)
		}
	}
	return strings.Join(out, ", ")
}

// text is a setting as users write it.
type text struct{ name, value string }

// texts returns all settings, in a fixed order. Two settings that differ have different texts.
func texts(s *capture.Settings) []text {
	limit := func(d time.Duration) string { return durationOr(d, "none") }
	return []text{
		{"provider", strings.ToUpper(s.Provider.String())},
		{"fields", or(s.Fields, "all")},
		{"properties", or(s.Properties, "none")},
		{"sampling.mode", modes[s.Mode]},
		{"sampling.period", durationOr(s.Period, "none")},
		{"sampling.events", eventsOf(s.Events)},
		{"sampling.deadband.absolute", number(s.Absolute)},
		{"sampling.deadband.relative", number(s.Relative)},
		{"sampling.deadband.unchanged", strconv.FormatBool(s.Unchanged)},
		{"sampling.deadband.heartbeat", durationOr(s.Heartbeat, "none")},
		{"sampling.maxPeriod", durationOr(s.MaxPeriod, "none")},
		{"sampling.maxRate", number(s.MaxRate)},
		{"sampling.clock", clocks[s.Clock]},
		{"sampling.clockLimit.ahead", limit(s.Ahead)},
		{"sampling.clockLimit.behind", limit(s.Behind)},
		{"sampling.clockLimit.onExceeded", actions[s.OnClock]},
		{"enabledBy", or(s.EnabledBy, "none")},
		{"paused", strconv.FormatBool(s.Paused)},
		{"the reason of the pause", or(s.PauseReason, "none")},
		{"retention.raw", s.Retention.Raw.String()},
		{"retention.rollups", rollups(s.Retention.Levels)},
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func number(v float64) string {
	if v == 0 {
		return "none"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// durationOr returns a duration without parts that are zero, such as 10m instead of 10m0s.
func durationOr(d time.Duration, otherwise string) string {
	if d == 0 {
		return otherwise
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func rollups(levels [store.MaxLevels]store.Level) string {
	var out []string
	for _, l := range levels {
		if l != 0 {
			out = append(out, fmt.Sprintf("%s for %v", durationOr(l.Every(), "0s"), l.Tier()))
		}
	}
	return or(strings.Join(out, ", "), "none")
}
