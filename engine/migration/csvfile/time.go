package csvfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/migration"
)

// TimeForm is the form of the times in a file.
type TimeForm int

// The forms of times.
const (
	// RFC3339 is a time such as 2024-03-01T12:00:00.5Z or 2024-03-01 12:00:00+01:00.
	RFC3339 TimeForm = iota
	// Seconds, Milliseconds, Microseconds and Nanoseconds count from 1970 on, in UTC. They may have decimals.
	Seconds
	Milliseconds
	Microseconds
	Nanoseconds
	// Calendar is a local time such as 03/23/2004 10:47:44.853429000, with the month first.
	Calendar
)

var timeForms = map[string]TimeForm{
	"rfc3339": RFC3339, "seconds": Seconds, "milliseconds": Milliseconds, "microseconds": Microseconds, "nanoseconds": Nanoseconds,
	"calendar": Calendar,
}

// ParseTimeForm returns the form with a name.
func ParseTimeForm(name string) (TimeForm, error) {
	form, found := timeForms[name]
	if !found {
		return 0, fmt.Errorf("%q is not rfc3339, seconds, milliseconds, microseconds, nanoseconds or calendar", name)
	}
	return form, nil
}

// digits is the number of decimals of a count whose last one is a nanosecond.
var digits = map[TimeForm]int{Seconds: 9, Milliseconds: 6, Microseconds: 3, Nanoseconds: 0}

// calendar is the layout of Calendar.
const calendar = "01/02/2006 15:04:05"

// parseTime returns a time in ns since 1970.
func (f *Format) parseTime(text string) (int64, error) {
	var at time.Time
	var err error
	switch f.Time {
	case RFC3339:
		if len(text) > 10 && text[10] == ' ' {
			text = text[:10] + "T" + text[11:]
		}
		if at, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return 0, fmt.Errorf("the time %.60q is not of the form 2024-03-01T12:00:00.5Z; if it is a number, give its unit with --csv-time", text)
		}
	case Calendar:
		if at, err = time.Parse(calendar, text); err != nil {
			return 0, fmt.Errorf("the time %.60q is not of the form 03/23/2004 10:47:44.853429000", text)
		}
		if at, err = migration.InZone(at, f.Zone); err != nil {
			return 0, fmt.Errorf("the time is %w", err)
		}
	default:
		return parseCount(text, digits[f.Time])
	}
	if at.Before(time.Unix(0, 0)) || at.Year() > lastYear {
		return 0, errTime
	}
	return at.UnixNano(), nil
}

// lastYear is the last year whose times can be stored.
const lastYear = 2261

var errTime = fmt.Errorf("the time is not between 1970 and %d", lastYear)

// parseCount returns a count since 1970 in ns. decimals is how many decimals make a nanosecond.
func parseCount(text string, decimals int) (int64, error) {
	whole, part, _ := strings.Cut(text, ".")
	if rest := strings.TrimRight(part, "0"); len(rest) <= decimals {
		part = rest
	}
	if whole == "" || len(part) > decimals || strings.ContainsFunc(whole+part, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, fmt.Errorf("the time %.60q is not a number since 1970 with at most %d decimals", text, decimals)
	}
	ns, err := strconv.ParseInt(whole+part+strings.Repeat("0", decimals-len(part)), 10, 64)
	if errors.Is(err, strconv.ErrRange) || err == nil && time.Unix(0, ns).UTC().Year() > lastYear {
		return 0, errTime
	}
	return ns, err
}
