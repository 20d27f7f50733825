package v1alpha1

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a number and a unit: ms, s, m, h, d (24 hours), w (7 days) or y (365 days), for
// example 90d. It is a type of its own, because neither Go nor CEL parses days and years, and
// "9000h" is hard to read.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=16
// +kubebuilder:validation:Pattern=`^[0-9]+(ms|s|m|h|d|w|y)$`
// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9]+(ms|s|m|h|d|w|y)$') || self.matches('^0*([0-9]{1,12}ms|[0-9]{1,9}s|[0-9]{1,8}m|[0-9]{1,6}h|[0-9]{1,5}d|[0-9]{1,4}w|1?[0-9]{1,2}y)$')",message="a duration must have at most 12 digits of ms, 9 of s, 8 of m, 6 of h, 5 of d or 4 of w, and be at most 199y"
type Duration string

// Units of a Duration.
const (
	day  = 24 * time.Hour
	week = 7 * day
	year = 365 * day
)

// TimeDuration returns d as a time.Duration. Durations that pass the schema always fit. Any other
// string can be malformed or too long.
func (d Duration) TimeDuration() (time.Duration, error) {
	digits := strings.TrimRight(string(d), "abcdefghijklmnopqrstuvwxyz")
	unit, ok := unitOf(string(d[len(digits):]))
	if !ok || digits == "" || strings.TrimLeft(digits, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a duration such as 500ms, 10s, 90d or 2y", string(d))
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/int64(unit) {
		return 0, fmt.Errorf("%q is too long: a duration is at most 199y", string(d))
	}
	return time.Duration(n) * unit, nil
}

func unitOf(s string) (time.Duration, bool) {
	switch s {
	case "ms":
		return time.Millisecond, true
	case "s":
		return time.Second, true
	case "m":
		return time.Minute, true
	case "h":
		return time.Hour, true
	case "d":
		return day, true
	case "w":
		return week, true
	case "y":
		return year, true
	}
	return 0, false
}
