package plan

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Times are the times of a schedule.
type Times struct {
	spec *cron.SpecSchedule
	// Text is the schedule and its time zone.
	Text string
}

// ParseTimes parses a schedule of five fields in a time zone, or UTC.
func ParseTimes(schedule, zone string, now time.Time) (*Times, error) {
	if zone == "" {
		zone = "UTC"
	}
	where, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return nil, fmt.Errorf("spec.timeZone: there is no time zone %q: write a name such as Europe/Berlin", zone)
	}
	if n := len(strings.Fields(schedule)); n != 5 || strings.ContainsAny(schedule, "=@") {
		return nil, fmt.Errorf("spec.schedule: %q does not have five fields, such as 30 1 * * *", schedule)
	}
	parsed, err := cron.ParseStandard(schedule)
	if err != nil {
		return nil, fmt.Errorf("spec.schedule: %w", err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New("spec.schedule: write five fields, such as 30 1 * * *")
	}
	spec.Location = where
	if spec.Next(now).IsZero() {
		return nil, fmt.Errorf("spec.schedule: %q never occurs in the next five years", schedule)
	}
	return &Times{spec: spec, Text: schedule + " " + zone}, nil
}

// Next returns the first time of the schedule after t, in UTC. It is zero if there is none in five years.
func (s *Times) Next(t time.Time) time.Time {
	next := s.spec.Next(t)
	if next.IsZero() {
		return next
	}
	return next.UTC()
}

// windows are the times before now in which Latest looks for a time of the schedule. The first one that has any decides,
// so Latest does not compute the times of years.
var windows = []time.Duration{time.Hour, 24 * time.Hour, 32 * 24 * time.Hour, 366 * 24 * time.Hour, 8 * 366 * 24 * time.Hour}

// Latest returns the latest time of the schedule after one time and not after another, or zero.
func (s *Times) Latest(after, now time.Time) time.Time {
	for _, w := range windows {
		begin := now.Add(-w)
		if begin.Before(after) {
			begin = after
		}
		var latest time.Time
		for t := s.Next(begin); !t.IsZero() && !t.After(now); t = s.Next(t) {
			latest = t
		}
		if !latest.IsZero() || begin.Equal(after) {
			return latest
		}
	}
	return time.Time{}
}
