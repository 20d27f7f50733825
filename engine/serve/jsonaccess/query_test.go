package jsonaccess

import (
	"testing"

	"varve.dev/varve/engine/query"
)

// FuzzParseQuery checks that each query is refused, or names a range that a reader can read.
func FuzzParseQuery(f *testing.F) {
	for _, raw := range []string{
		"start=0&end=1", "start=1767225600000000000&end=1767229200000000000&count=800", "start=0&end=1&prettyPrint",
		"start=-9223372036854775808&end=9223372036854775807", "start=2&end=1", "start=%31&end=+1", "start=0;end=1", "starts=0", "%zz", "=&=",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := parseQuery(raw)
		if err != nil {
			return
		}
		if q.start > q.end || q.start < query.Earliest || q.end > query.Latest || q.count < 0 || q.count > maxCount {
			t.Errorf("%q is parsed as %+v", raw, q)
		}
	})
}
