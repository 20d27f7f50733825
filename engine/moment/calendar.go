package moment

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// calendarForm has the parts of a date, of a time of day, or of both, and of the zone behind them.
var calendarForm = regexp.MustCompile(`^(?:(today|yesterday|\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?|(\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))` +
	`(?: ?(Z|[+-]\d{2}(?::?\d{2})?)| ([A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*))?$`)

// calendar parses dates and times of day.
func (p *Parser) calendar(text string) (time.Time, bool, error) {
	part := calendarForm.FindStringSubmatch(text)
	if part == nil {
		return time.Time{}, false, nil
	}
	zone, err := p.zone(part[4], part[5])
	if err != nil {
		return time.Time{}, true, err
	}
	now := p.Now.In(zone)
	var day string
	switch part[1] {
	case "", "today":
		day = now.Format(time.DateOnly)
	case "yesterday":
		day = now.AddDate(0, 0, -1).Format(time.DateOnly)
	default:
		day = part[1]
	}
	clock := part[2] + part[3] // at most one of them is set
	switch strings.Count(clock, ":") {
	case 0:
		clock = "00:00:00"
	case 1:
		clock += ":00"
	}
	t, err := time.ParseInLocation("2006-01-02 15:04:05", day+" "+clock, zone)
	if err != nil {
		return time.Time{}, true, fmt.Errorf("there is no such day or time: %s %s", day, clock)
	}
	return t, true, nil
}

// zone returns the zone of a text that ends in an offset, in the name of a zone, or in neither.
func (p *Parser) zone(offset, name string) (*time.Location, error) {
	switch {
	case name != "":
		zone, err := time.LoadLocation(name)
		if err != nil {
			return nil, fmt.Errorf("there is no time zone %s; write Z, an offset such as +01:00, or a name such as Europe/Paris", name)
		}
		return zone, nil
	case offset != "":
		return offsetZone(offset)
	case p.Zone == nil:
		return nil, fmt.Errorf("the time has no zone; append Z, an offset such as +01:00, or a name such as Europe/Paris")
	}
	return p.Zone, nil
}

// offsetZone returns the zone of Z, or of an offset such as +01, +0100 or +01:00.
func offsetZone(offset string) (*time.Location, error) {
	if offset == "Z" {
		return time.UTC, nil
	}
	plain := (strings.ReplaceAll(offset, ":", "") + "00")[:5]
	t, err := time.Parse("-0700", plain)
	if err != nil {
		return nil, fmt.Errorf("there is no time zone %s", offset)
	}
	return t.Location(), nil
}
