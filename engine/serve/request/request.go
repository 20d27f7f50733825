// Package request parses the parameters of HTTP requests: times, limits and patterns of PV
// names. Its errors are sent to the client, so they name the parameter.
//
//	?from=…&to=…  ──▶ Range          ?pv=SR*,BR*  ──▶ Glob
//	?limit=…      ──▶ Limit          ?regex=SR.*  ──▶ Regexp      ?near=NAME ──▶ Nearest
package request

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/moment"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/store"
)

// RetryAfter is the time in seconds after which a client may repeat a request that failed for a
// reason that passes.
const RetryAfter = "5"

// BodyError is why the body of a request cannot be read.
type BodyError struct {
	Code int // HTTP status code
	Text string
}

func (e BodyError) Error() string { return e.Text }

// BadCode returns the status code for a request that is refused with err before it is answered. If
// a repeated request may succeed, it also sets the header Retry-After.
func BadCode(h http.Header, err error) int {
	var body BodyError
	if !errors.As(err, &body) {
		return http.StatusBadRequest
	}
	if body.Code == http.StatusTooManyRequests {
		h.Set("Retry-After", RetryAfter)
	}
	return body.Code
}

// Code returns the status code for a valid request that failed with err: 429 if too many requests are under
// way, and 503 if the archive cannot read its samples now. If a repeated request may succeed, Code also sets
// the header Retry-After.
func Code(h http.Header, err error) int {
	if errors.Is(err, admission.ErrFull) {
		h.Set("Retry-After", whenFull(err))
		return http.StatusTooManyRequests
	}
	for _, passes := range []error{store.ErrNotOpen, query.ErrNoAnswer} {
		if errors.Is(err, passes) {
			h.Set("Retry-After", RetryAfter)
			return http.StatusServiceUnavailable
		}
	}
	if errors.Is(err, query.ErrUpstream) {
		if older := (*query.OlderError)(nil); errors.As(err, &older) && older.After > 0 {
			h.Set("Retry-After", seconds(older.After))
		}
		return http.StatusBadGateway
	}
	return http.StatusInternalServerError
}

// whenFull returns the time in seconds after which there may be a place for a request that was refused.
func whenFull(err error) string {
	var full *admission.FullError
	if errors.As(err, &full) && full.After > 0 {
		return seconds(full.After)
	}
	return RetryAfter
}

// seconds returns a time as whole seconds, rounded up.
func seconds(d time.Duration) string { return strconv.Itoa(int((d + time.Second - 1) / time.Second)) }

// Time parses a parameter that is a time and returns it in ns since 1970. It returns absent if
// the parameter is absent. Package moment has the forms. A client's time zone is unknown, so
// the text of a date or a time of day must have one.
func Time(q url.Values, name string, absent int64, now time.Time) (int64, error) {
	text := q.Get(name)
	if text == "" {
		return absent, nil
	}
	p := moment.Parser{Now: now}
	t, err := p.Parse(restorePlus(text))
	if err != nil {
		return 0, fmt.Errorf("parameter %s: %w", name, err)
	}
	if ns := t.UnixNano(); t.Year() > 1900 && t.Year() < 2200 && ns >= query.Earliest && ns <= query.Latest {
		return ns, nil
	}
	return 0, fmt.Errorf("parameter %s: year %d is not in the range 1901 to 2199", name, t.Year())
}

// restorePlus changes "…T12:00:00 01:00" back to "…T12:00:00+01:00", because an unescaped + in a
// URL arrives as a space. A time of day after a date and a space has no colon before the space.
func restorePlus(text string) string {
	for _, zone := range []string{" 00:00", " 0000"} { // offsets have one of these lengths
		if i := len(text) - len(zone); i > 0 && text[i] == ' ' && strings.Contains(text[:i], ":") {
			return text[:i] + "+" + text[i+1:]
		}
	}
	return text
}

// Range parses the parameters from and to and returns them in ns since 1970. As in the
// Archiver Appliance, the default of to is an hour from now, and the default of from is a day
// before to.
func Range(q url.Values, now time.Time) (from, to int64, err error) {
	if to, err = Time(q, "to", now.Add(time.Hour).UnixNano(), now); err != nil {
		return 0, 0, err
	}
	if from, err = Time(q, "from", to-int64(24*time.Hour), now); err != nil {
		return 0, 0, err
	}
	if from > to {
		return 0, 0, fmt.Errorf("parameter from: %s is after the parameter to, %s", clock(from), clock(to))
	}
	return from, to, nil
}

func clock(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// Limit parses the parameter limit. It returns absent if the parameter is absent. A
// negative number means no limit.
func Limit(q url.Values, absent int) (int, error) {
	text := q.Get("limit")
	if text == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("parameter limit: %q is not a whole number", text)
	}
	return n, nil
}
