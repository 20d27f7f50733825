package request

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/query"
)

func TestTime(t *testing.T) {
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-01-31T12:00:00Z":                noon,
		"2026-01-31T12:00:00.000Z":            noon,
		"2026-01-31T12:00:00.123456789Z":      noon.Add(123456789),
		"2026-01-31T12:00Z":                   noon,
		"2026-01-31T05:00:00-07:00":           noon,
		"2026-01-31T13:00:00%2B01:00":         noon,
		"2026-01-31T13:00:00+01:00":           noon, // an unescaped + arrives as a space
		"2026-01-31T13:00:00.5+01:00":         noon.Add(time.Second / 2),
		"2026-01-31T13:00:00+0100":            noon,
		"2026-01-31T12%3A00%3A00Z":            noon,
		"2026-01-31 13:00 01:00":              noon,
		"2026-01-31%2012:00 UTC":              noon,
		"2026-01-31T13:00 Europe/Berlin":      noon,
		"now-1h":                              noon.Add(-time.Hour),
		"-15m":                                noon.Add(-15 * time.Minute),
		"1769860800":                          noon,
		"1769860800000":                       noon,
		"1999-12-31T23:59:59.999999999-00:00": time.Date(1999, 12, 31, 23, 59, 59, 999999999, time.UTC),
	} {
		q, err := url.ParseQuery("from=" + text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Time(q, "from", 0, noon); err != nil || got != want.UnixNano() {
			t.Errorf("%s is %v, %v; want %v", text, time.Unix(0, got).UTC(), err, want)
		}
	}
}

func TestErrorsOfTimeNameTheParameter(t *testing.T) {
	for _, text := range []string{"yesterday", "2026-01-31", "2026-01-31T12:00:00", "2026-13-31T12:00:00Z", "1e9", "9999-01-01T00:00:00Z", "0001-01-01T00:00:00Z"} {
		_, err := Time(url.Values{"to": {text}}, "to", 0, time.Unix(1767225600, 0))
		if err == nil || !strings.HasPrefix(err.Error(), "parameter to: ") {
			t.Errorf("%s returns the error %v, which does not name the parameter", text, err)
		}
	}
}

func TestRangeDefaults(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	from, to, err := Range(url.Values{}, now)
	if err != nil || to != now.Add(time.Hour).UnixNano() || from != now.Add(-23*time.Hour).UnixNano() {
		t.Fatalf("the range is %d to %d, %v", from, to, err)
	}
	_, _, err = Range(url.Values{"from": {"2026-02-01T00:00:00Z"}, "to": {"2026-01-01T00:00:00Z"}}, now)
	if err == nil || !strings.Contains(err.Error(), "is after the parameter to") {
		t.Fatalf("a range that ends before it begins returns %v", err)
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "SR01:PRES", true},
		{"SR*", "SR01:PRES", true},
		{"SR*", "BR01:PRES", false},
		{"*PRES", "SR01:PRES", true},
		{"*:P*S", "SR01:PRES", true},
		{"SR0?:PRES", "SR01:PRES", true},
		{"SR0?:PRES", "SR0:PRES", false},
		{"SR01.PRES*", "SR01:PRES", false}, // a dot is not a wildcard
		{"*a*b*c", "xaybzcc", true},
		{"*a*b*c", "xaybzcd", false},
		{"SR01:PRES", "SR01:PRES", true},
		{"ca://SR01:PRES.VAL", "SR01:PRES", true},
		{"", "SR01:PRES", false},
	} {
		if got := Glob(c.pattern)(c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
}

func TestRegexpMatchesWholeNames(t *testing.T) {
	m, err := Regexp("SR|BR.*")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"SR": true, "SR01": false, "BR01": true, "XBR": false} {
		if m(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if _, err := Regexp("("); err == nil || !strings.Contains(err.Error(), "parameter regex") {
		t.Errorf("an invalid expression returns %v", err)
	}
}

// FuzzRange checks that a range is either refused, or in order and within the bounds of a
// reader.
func FuzzRange(f *testing.F) {
	f.Add("from=2026-01-31T12:00:00+01:00&to=2026-02-01T00:00:00.5Z&limit=3")
	f.Add("from=&to=2262-04-12T00:00:00Z")
	f.Add("to=0000-00-00T00:00:00 00:00")
	f.Fuzz(func(t *testing.T, raw string) {
		q, _ := url.ParseQuery(raw)
		from, to, err := Range(q, time.Unix(1767225600, 0))
		if err == nil && (from > to || from < query.Earliest-int64(24*time.Hour) || to > query.Latest) {
			t.Errorf("%q returns the range %d to %d", raw, from, to)
		}
		_, _ = Limit(q, 0)
		Glob(q.Get("pv"))(q.Get("pv"))
	})
}

func TestCodesOfRefusedRequests(t *testing.T) {
	for _, c := range []struct {
		err   error
		want  int
		retry bool
	}{
		{errors.New("parameter from: not a time"), http.StatusBadRequest, false},
		{BodyError{Code: http.StatusRequestEntityTooLarge}, http.StatusRequestEntityTooLarge, false},
		{BodyError{Code: http.StatusTooManyRequests}, http.StatusTooManyRequests, true},
	} {
		h := http.Header{}
		if got := BadCode(h, c.err); got != c.want || (h.Get("Retry-After") != "") != c.retry {
			t.Errorf("%v: %d with headers %v", c.err, got, h)
		}
	}
}

// TestCodesOfTheOlderArchive checks what a client gets while the older archive is away.
func TestCodesOfTheOlderArchive(t *testing.T) {
	for after, want := range map[time.Duration]string{0: "", 1500 * time.Millisecond: "2", 5 * time.Second: "5"} {
		h := http.Header{}
		err := fmt.Errorf("reading X: %w", errors.Join(query.ErrUpstream, &query.OlderError{Text: "away", After: after}))
		if got := Code(h, err); got != http.StatusBadGateway || h.Get("Retry-After") != want {
			t.Errorf("%v: %d with headers %v, want 502 and %q", after, got, h, want)
		}
	}
}
