package jsonaccess

import (
	"fmt"
	"net/url"
	"strconv"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/request"
)

// prettyPrint is the parameter that makes an answer easier to read.
const prettyPrint = "prettyPrint"

// maxCount bounds the parameter count.
const maxCount = 100_000

// samplesQuery is a request for samples.
type samplesQuery struct {
	start, end int64 // ns since 1970
	count      int   // about how many samples are wanted; 0 for all
	values     url.Values
}

// parseQuery parses the query of a request for samples.
func parseQuery(raw string) (s samplesQuery, err error) {
	if s.values, err = request.Parameters(raw, "start", "end", "count", prettyPrint); err != nil {
		return s, err
	}
	if s.start, err = instant(s.values, "start"); err != nil {
		return s, err
	}
	if s.end, err = instant(s.values, "end"); err != nil {
		return s, err
	}
	if s.start > s.end {
		return s, fmt.Errorf("parameter start: %d is after the parameter end, %d", s.start, s.end)
	}
	if s.values.Has("count") {
		text := s.values.Get("count")
		if s.count, err = strconv.Atoi(text); err != nil || s.count < 1 || s.count > maxCount {
			return s, fmt.Errorf("parameter count: %q is not a whole number from 1 to %d", text, maxCount)
		}
	}
	return s, nil
}

// instant returns a parameter that is a time. The archive has no samples beyond the bounds of
// its times, so that a time beyond them means the same as the bound.
func instant(q url.Values, name string) (int64, error) {
	text := q.Get(name)
	ns, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parameter %s: %q is not a time; write the nanoseconds since 1970-01-01T00:00:00Z", name, text)
	}
	return min(max(ns, query.Earliest), query.Latest), nil
}
