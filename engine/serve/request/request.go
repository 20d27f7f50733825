// Package request parses the parameters of HTTP requests: times, limits and patterns of PV
// names. Its errors are sent to the client, so they name the parameter.
//
//	?from=…&to=…  ──▶ Range          ?pv=SR*,BR*  ──▶ Glob
//	?limit=…      ──▶ Limit          ?regex=SR.*  ──▶ Regexp
package request

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/store"
)

// Code returns the status code for a valid request that failed with err.
func Code(err error) int {
	if errors.Is(err, store.ErrNotOpen) || errors.Is(err, query.ErrNoAnswer) {
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// layouts are the forms of ISO 8601 that clients send. Each layout accepts fractions of a
// second.
var layouts = []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700"}

// Time parses a parameter that is a time and returns it in ns since 1970. It returns absent if
// the parameter is absent. An unescaped + in a URL arrives as a space. Time accepts such a
// space in offsets.
func Time(q url.Values, name string, absent int64) (int64, error) {
	text := q.Get(name)
	if text == "" {
		return absent, nil
	}
	for _, layout := range layouts {
		t, err := time.Parse(layout, restorePlus(text))
		if err != nil {
			continue
		}
		if ns := t.UnixNano(); t.Year() > 1900 && t.Year() < 2200 && ns >= query.Earliest && ns <= query.Latest {
			return ns, nil
		}
		return 0, fmt.Errorf("parameter %s: year %d is not in the range 1901 to 2199", name, t.Year())
	}
	return 0, fmt.Errorf("parameter %s: %q is not a time like 2026-01-31T12:00:00.000Z or 2026-01-31T12:00:00+01:00", name, text)
}

// restorePlus changes "…T12:00:00 01:00" back to "…T12:00:00+01:00".
func restorePlus(text string) string {
	for _, zone := range []string{" 00:00", " 0000"} { // offsets have one of these lengths
		if i := len(text) - len(zone); i > 0 && text[i] == ' ' {
			return text[:i] + "+" + text[i+1:]
		}
	}
	return text
}

// Range parses the parameters from and to and returns them in ns since 1970. As in the
// Archiver Appliance, the default of to is an hour from now, and the default of from is a day
// before to.
func Range(q url.Values, now time.Time) (from, to int64, err error) {
	if to, err = Time(q, "to", now.Add(time.Hour).UnixNano()); err != nil {
		return 0, 0, err
	}
	if from, err = Time(q, "from", to-int64(24*time.Hour)); err != nil {
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
