package moment

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	amounts = regexp.MustCompile(`^(?:\d+(?:\.\d+)?(?:ms|min|mo|s|m|h|d|w|y))+$`)
	amount  = regexp.MustCompile(`(\d+(?:\.\d+)?)(ms|min|mo|s|m|h|d|w|y)`)
)

// unit is the length of a unit of relative times: a number of months, or a duration.
type unit struct {
	months int
	length time.Duration
}

var units = map[string]unit{
	"ms": {length: time.Millisecond}, "s": {length: time.Second}, "m": {length: time.Minute}, "min": {length: time.Minute},
	"h": {length: time.Hour}, "d": {length: 24 * time.Hour}, "w": {length: 7 * 24 * time.Hour}, "mo": {months: 1}, "y": {months: 12},
}

// relative parses now, and the distances from it.
func (p *Parser) relative(text string) (time.Time, bool, error) {
	rest := strings.TrimPrefix(text, "now")
	if rest == "" && text != "" {
		return p.Now, true, nil
	}
	sign, distance := 1, strings.TrimPrefix(rest, "+")
	if d, negative := strings.CutPrefix(rest, "-"); negative {
		sign, distance = -1, d
	}
	if !amounts.MatchString(distance) {
		return time.Time{}, false, nil
	}
	if distance == text {
		return time.Time{}, true, fmt.Errorf("a time after now begins with +; did you mean -%s, which is before now?", text)
	}
	t := p.Now
	for _, part := range amount.FindAllStringSubmatch(distance, -1) {
		var err error
		if t, err = add(t, sign, part[1], units[part[2]]); err != nil {
			return time.Time{}, true, err
		}
	}
	return t, true, nil
}

// maxYears bounds relative times.
const maxYears = 300

var errFar = fmt.Errorf("the distance is more than %d years", maxYears)

// add adds a number of units to a time.
func add(t time.Time, sign int, number string, u unit) (time.Time, error) {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return t, errFar // the digits are valid, so the number is too large
	}
	if u.months > 0 {
		if n != math.Trunc(n) {
			return t, errors.New("months and years must be whole numbers")
		}
		if n*float64(u.months) > maxYears*12 {
			return t, errFar
		}
		return addMonths(t, sign*int(n)*u.months), nil
	}
	if d := n * float64(u.length); d <= float64(maxYears-10)*365*24*float64(time.Hour) {
		return t.Add(time.Duration(sign) * time.Duration(d)), nil
	}
	return t, errFar
}

// addMonths adds months of the calendar. If the resulting month has too few days, the result is on its
// last day.
func addMonths(t time.Time, months int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}

var digits = regexp.MustCompile(`^\d{1,19}(?:\.\d{1,9})?$`)

// epoch parses the time since 1970. The number of digits says in which unit.
func (p *Parser) epoch(text string) (time.Time, bool, error) {
	if !digits.MatchString(text) {
		return time.Time{}, false, nil
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if len(whole) < 9 {
		return time.Time{}, true, fmt.Errorf("a time since 1970 has at least 9 digits; %s", p.examples())
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, true, errFar
	}
	switch {
	case len(whole) <= 11:
		ns, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64) // digits only
		return time.Unix(n, ns), true, nil
	case fraction != "":
		return time.Time{}, true, errors.New("only seconds since 1970 may have a fraction")
	case len(whole) <= 14:
		return time.UnixMilli(n), true, nil
	case len(whole) <= 17:
		return time.UnixMicro(n), true, nil
	}
	return time.Unix(0, n), true, nil
}
