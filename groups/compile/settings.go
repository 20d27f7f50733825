package compile

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
)

// These are the default limits of the IOC's clock. The limit for clocks ahead is narrow,
// because samples from the future disturb reads up to the present. The limit for clocks behind
// is wide, because an IOC may have buffered a sample.
const (
	defaultAhead  = 5 * time.Minute
	defaultBehind = 24 * time.Hour
)

// override returns the group's sampling, overridden by the channel's fields. A channel with
// its own mode inherits none of the settings that belong to the group's mode.
func override(group, channel *v1alpha1.Sampling) *v1alpha1.Sampling {
	if group == nil {
		return channel
	}
	out := *group
	if channel.Mode != "" {
		out.Mode = channel.Mode
		out.Period, out.Deadband, out.MaxRate = nil, nil, nil
	}
	if channel.Period != nil {
		out.Period = channel.Period
	}
	if channel.Events != nil {
		out.Events = channel.Events
	}
	if channel.Deadband != nil {
		out.Deadband = channel.Deadband
	}
	if channel.MaxRate != nil {
		out.MaxRate = channel.MaxRate
	}
	if channel.MaxPeriod != nil {
		out.MaxPeriod = channel.MaxPeriod
	}
	if channel.Clock != "" {
		out.Clock = channel.Clock
	}
	if channel.ClockLimit != nil {
		out.ClockLimit = channel.ClockLimit
	}
	return &out
}

// settingsOf converts a sampling and fills in the defaults. Settings that do not apply to the
// mode or the clock are zero, so that equal behaviour gives equal settings.
func settingsOf(s *v1alpha1.Sampling) (out capture.Settings, err error) {
	if s == nil {
		s = &v1alpha1.Sampling{}
	}
	out.Events = eventsOf(s.Events)
	if out.MaxPeriod, err = durationOr(s.MaxPeriod, 0); err != nil {
		return out, fmt.Errorf("parsing maxPeriod: %w", err)
	}
	if s.Mode == v1alpha1.Scan {
		out.Mode = capture.Scan
		if s.Period == nil {
			return out, errors.New("period is required for mode Scan")
		}
		if out.Period, err = s.Period.TimeDuration(); err != nil {
			return out, fmt.Errorf("parsing the period: %w", err)
		}
	} else {
		if s.Deadband != nil {
			if err := setDeadband(&out, s.Deadband); err != nil {
				return out, err
			}
		}
		if s.MaxRate != nil {
			out.MaxRate = *s.MaxRate
		}
	}
	if s.Clock == v1alpha1.EngineClock {
		out.Clock = capture.EngineClock
		return out, nil
	}
	err = setClockLimit(&out, s.ClockLimit)
	return out, err
}

// setDeadband sets the deadband. A heartbeat without a deadband has no effect.
func setDeadband(out *capture.Settings, d *v1alpha1.Deadband) (err error) {
	out.Absolute, out.Relative, out.Unchanged = d.Absolute, d.Relative, d.Unchanged
	if d.Heartbeat != nil && hasDeadband(out) {
		if out.Heartbeat, err = d.Heartbeat.TimeDuration(); err != nil {
			return fmt.Errorf("parsing deadband.heartbeat: %w", err)
		}
	}
	return nil
}

func hasDeadband(s *capture.Settings) bool { return s.Absolute != 0 || s.Relative != 0 || s.Unchanged }

func setClockLimit(out *capture.Settings, limit *v1alpha1.ClockLimit) (err error) {
	if limit == nil {
		limit = &v1alpha1.ClockLimit{}
	}
	if limit.OnExceeded == v1alpha1.Refuse {
		out.OnClock = capture.Refuse
	}
	if out.Ahead, err = durationOr(limit.Ahead, defaultAhead); err != nil {
		return fmt.Errorf("parsing clockLimit.ahead: %w", err)
	}
	if out.Behind, err = durationOr(limit.Behind, defaultBehind); err != nil {
		return fmt.Errorf("parsing clockLimit.behind: %w", err)
	}
	return nil
}

func durationOr(d *v1alpha1.Duration, otherwise time.Duration) (time.Duration, error) {
	if d == nil {
		return otherwise, nil
	}
	return d.TimeDuration()
}

// redundancyOf returns how many engines should capture a channel: the setting of the channel,
// or else the setting of its group.
func redundancyOf(group *v1alpha1.ArchiveGroupSpec, ch *v1alpha1.Channel) int32 {
	if ch.Redundancy != nil {
		return *ch.Redundancy
	}
	return group.Redundancy
}

// wantsTwice reports whether a group requests two engines for any of its channels.
func wantsTwice(spec *v1alpha1.ArchiveGroupSpec) bool {
	return spec.Redundancy > 1 ||
		slices.ContainsFunc(spec.Rules, func(r v1alpha1.Rule) bool { return r.Redundancy != nil && *r.Redundancy > 1 }) ||
		slices.ContainsFunc(spec.Channels, func(ch v1alpha1.Channel) bool { return redundancyOf(spec, &ch) > 1 })
}

func eventsOf(classes []v1alpha1.EventClass) capture.Events {
	if len(classes) == 0 {
		return capture.EventLog | capture.EventAlarm
	}
	var events capture.Events
	for _, class := range classes {
		switch class {
		case v1alpha1.LogEvents:
			events |= capture.EventLog
		case v1alpha1.AlarmEvents:
			events |= capture.EventAlarm
		case v1alpha1.ValueEvents:
			events |= capture.EventValue
		}
	}
	return events
}
