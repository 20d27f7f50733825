package appliance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/varve/engine/retry"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/upstream"
)

var escapes = strings.NewReplacer("\x1b", "\x1b\x01", "\n", "\x1b\x02", "\r", "\x1b\x03")

// header returns the first line of a chunk of float64 samples.
func header(pv string, year int) string {
	msg := append([]byte("\x08\x06\x12"+string(rune(len(pv)))+pv+"\x18"), binary.AppendUvarint(nil, uint64(year))...)
	return escapes.Replace(string(msg)) + "\n"
}

// double returns the line of a sample, whose value is its number of seconds since 1970.
func double(at time.Time) string {
	second := at.Unix() - time.Date(at.Year(), 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	msg := append(binary.AppendUvarint([]byte{8}, uint64(second)), "\x10\x00\x19"...)
	return escapes.Replace(string(binary.LittleEndian.AppendUint64(msg, math.Float64bits(float64(at.Unix()))))) + "\n"
}

// times are those of the samples of each PV: every day of three years.
var times = func() (out []time.Time) {
	for at := time.Date(2021, 3, 5, 1, 0, 0, 0, time.UTC); at.Year() < 2024; at = at.Add(24 * time.Hour) {
		out = append(out, at)
	}
	return out
}()

// lines returns the answer with the samples of a range, and with the last one before it, as an Appliance sends them.
func lines(pv string, from, to time.Time) string {
	var out strings.Builder
	year := 0
	for i, at := range times {
		if at.After(to) || at.Before(from) && (i+1 == len(times) || !times[i+1].After(from)) {
			continue
		}
		if at.Year() != year {
			if year != 0 {
				out.WriteString("\n")
			}
			year = at.Year()
			out.WriteString(header(pv, year))
		}
		out.WriteString(double(at))
	}
	return out.String()
}

// fault answers a request in a wrong way, and returns false to let the right answer follow.
type fault func(w http.ResponseWriter, r *http.Request, right string, from time.Time) bool

// archive is an Appliance with the same samples for all PVs.
type archive struct {
	mu       sync.Mutex
	requests []string
	fault    fault
}

func (a *archive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/retrieval/bpl/getVersion":
		_, _ = io.WriteString(w, "{}")
		return
	case "/retrieval/bpl/getMatchingPVs":
		_, _ = io.WriteString(w, `["A:B","A:C","A:D","A:E","A:F","no name"]`)
		return
	}
	q := r.URL.Query()
	from, _ := time.Parse(time.RFC3339, q.Get("from"))
	to, _ := time.Parse(time.RFC3339, q.Get("to"))
	a.mu.Lock()
	a.requests = append(a.requests, q.Get("pv")+" "+q.Get("from"))
	fault := a.fault
	a.mu.Unlock()
	right := lines(q.Get("pv"), from, to)
	if fault == nil || !fault(w, r, right, from) {
		_, _ = io.WriteString(w, right)
	}
}

func serve(t *testing.T, idle time.Duration, f fault) (*archive, *Source) {
	t.Helper()
	a := &archive{fault: f}
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	base, err := url.Parse(srv.URL + "/retrieval")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{
		Archive: &upstream.Appliance{Server: upstream.Server{Base: base, Client: srv.Client(), Idle: idle}},
		Want:    func(pv string) bool { return pv != "A:F" }, Pause: retry.Backoff{Min: 1, Max: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a, s
}

// sink notes what it receives.
type sink struct {
	got      []time.Time
	problems []string
}

func (s *sink) Samples(_ context.Context, run *sample.Run) error {
	for i, at := range run.Times {
		s.got = append(s.got, time.Unix(0, at).UTC())
		if run.Float(i) != float64(at/1e9) {
			return fmt.Errorf("the sample at %d has the value %v", at, run.Float(i))
		}
	}
	return nil
}
func (s *sink) Mark(sample.Mark)          {}
func (s *sink) Metadata(*sample.Metadata) {}
func (s *sink) Problem(place string, _ int64, err error) {
	s.problems = append(s.problems, place+": "+err.Error())
}
func (s *sink) Note(string)         {}
func (s *sink) Progress(int, int64) {}

func read(t *testing.T, s *Source, pv string) (*sink, error) {
	t.Helper()
	to := &sink{}
	return to, s.Read(t.Context(), pv, math.MinInt64, math.MaxInt64, to)
}

// TestReadsAllSamplesInRanges also checks the names, and that sparse PVs take few requests.
func TestReadsAllSamplesInRanges(t *testing.T) {
	a, s := serve(t, time.Minute, nil)
	if want := []string{"A:B", "A:C", "A:D", "A:E"}; !slices.Equal(s.PVs(), want) || len(s.Skipped) != 1 {
		t.Errorf("the PVs are %q, skipped are %+v", s.PVs(), s.Skipped)
	}
	to, err := read(t, s, "A:B")
	if err != nil || !slices.Equal(to.got, times) || len(to.problems) > 0 {
		t.Errorf("read %d of %d samples, problems %q, %v", len(to.got), len(times), to.problems, err)
	}
	if n := len(a.requests); n < 6 || n > 20 {
		t.Errorf("there were %d requests: %q", n, a.requests)
	}
	since, until := times[100].UnixNano(), times[200].UnixNano()
	part := &sink{}
	if err := s.Read(t.Context(), "A:B", since, until, part); err != nil || !slices.Equal(part.got, times[100:200]) {
		t.Errorf("read %d samples of a part, %v", len(part.got), err)
	}
}

// TestGoesOnAfterAnAnswerThatWasCut checks that no sample is passed on twice, or is missing.
func TestGoesOnAfterAnAnswerThatWasCut(t *testing.T) {
	n := 0
	_, s := serve(t, time.Minute, func(w http.ResponseWriter, _ *http.Request, right string, _ time.Time) bool {
		if n++; n%2 == 0 {
			return false
		}
		if n%3 == 0 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return true
		}
		_, _ = io.WriteString(w, right[:len(right)*3/4])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	to, err := read(t, s, "A:B")
	if err != nil || !slices.Equal(to.got, times) || len(to.problems) > 0 {
		t.Errorf("read %d of %d samples, problems %q, %v", len(to.got), len(times), to.problems, err)
	}
}

// TestNoLieIsTakenForTheWhole answers one range in a wrong way. The range must be named, and the samples of the others must
// be read.
func TestNoLieIsTakenForTheWhole(t *testing.T) {
	some := func(text string, n int) string { return strings.Join(strings.SplitAfter(text, "\n")[:n], "") }
	for want, lie := range map[string]func(right string, from time.Time) string{
		"out of order": func(right string, _ time.Time) string {
			return right + "\n" + header("A:B", 2021) + double(times[0])
		},
		"another PV": func(right string, _ time.Time) string { return strings.ReplaceAll(right, "A:B", "A:C") },
		"payload type 14": func(right string, _ time.Time) string {
			return strings.ReplaceAll(right, "\x08\x06\x12", "\x08\x0e\x12")
		},
		"damaged at byte": func(right string, _ time.Time) string { return right[:len(right)-3] },
		"of another time": func(_ string, from time.Time) string {
			return lines("A:B", from.AddDate(-1, 0, 0), from.AddDate(0, -3, 0))
		},
		"for that time lacked": func(right string, from time.Time) string {
			return header("A:B", from.Year()) + double(from.Add(-time.Second)) + "\n" + some(right, 2)
		},
		"reading the header": func(string, time.Time) string { return "<html>sign in</html>\n" },
	} {
		bad := time.Date(2022, 4, 1, 0, 0, 0, 0, time.UTC)
		lying := "" // the end of the range
		_, s := serve(t, time.Minute, func(w http.ResponseWriter, r *http.Request, right string, from time.Time) bool {
			end := r.URL.Query().Get("to")
			to, _ := time.Parse(time.RFC3339, end)
			if lying == "" && from.Before(bad) && to.After(bad) && from.Year() > 2000 {
				lying = end
			}
			if end == lying {
				_, _ = io.WriteString(w, lie(right, from))
				return true
			}
			return false
		})
		to, err := read(t, s, "A:B")
		if err != nil || len(to.problems) != 1 || !strings.Contains(to.problems[0], want) || !strings.Contains(to.problems[0], "A:B from 202") || !strings.Contains(to.problems[0], "not imported") {
			t.Errorf("%s: problems are %q, %v", want, to.problems, err)
		}
		if len(to.got) == 0 {
			t.Errorf("%s: read nothing", want)
		} else if last := to.got[len(to.got)-1]; last != times[len(times)-1] || len(to.got) > len(times) || !slices.IsSortedFunc(to.got, time.Time.Compare) {
			t.Errorf("%s: read %d samples up to %v", want, len(to.got), last)
		}
	}
}

// TestAnAnswerWithoutAnEndIsRefused answers as a server of HTTP/1.0, whose answers end with the connection.
func TestAnAnswerWithoutAnEndIsRefused(t *testing.T) {
	_, s := serve(t, time.Minute, func(w http.ResponseWriter, _ *http.Request, right string, from time.Time) bool {
		if from.Year() < 2000 {
			return false
		}
		c, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return false
		}
		defer c.Close()
		_, _ = buf.WriteString("HTTP/1.0 200 OK\r\n\r\n" + right)
		_ = buf.Flush()
		return true
	})
	to, err := read(t, s, "A:B")
	if err == nil || len(to.got) > 0 || !strings.Contains(err.Error(), "neither a length nor chunks") || len(to.problems) != maxRefused-1 {
		t.Errorf("read %d samples, problems %q, %v", len(to.got), to.problems, err)
	}
}

// TestAnEmptyAnswerThatWasCutIsRefused cuts the first answer before its first sample, as a proxy with HTTP/1.0 does when the
// archive behind it goes away. The PV must not count as one without samples.
func TestAnEmptyAnswerThatWasCutIsRefused(t *testing.T) {
	_, s := serve(t, time.Minute, func(w http.ResponseWriter, _ *http.Request, _ string, _ time.Time) bool {
		c, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return false
		}
		defer c.Close()
		_, _ = buf.WriteString("HTTP/1.0 200 OK\r\n\r\n")
		_ = buf.Flush()
		return true
	})
	to, err := read(t, s, "A:B")
	if err != nil || len(to.problems) != 1 || !strings.Contains(to.problems[0], "A:B from 1970") || !strings.Contains(to.problems[0], "neither a length nor chunks") {
		t.Errorf("problems %q, %v", to.problems, err)
	}
}

// sent counts the requests that a client sends. A busy server may learn of a request when it has been given up.
type sent struct {
	http.RoundTripper
	n atomic.Int64
}

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.n.Add(1)
	return s.RoundTripper.RoundTrip(r)
}

// TestASilentServerEndsTheImport checks that the PVs are incomplete, and that the last ones are not asked for.
func TestASilentServerEndsTheImport(t *testing.T) {
	_, s := serve(t, time.Minute, func(_ http.ResponseWriter, r *http.Request, _ string, _ time.Time) bool {
		<-r.Context().Done()
		return true
	})
	server := &s.opts.Archive.Server
	requests := &sent{RoundTripper: server.Client.Transport}
	server.Idle, server.Client = 100*time.Millisecond, &http.Client{Transport: requests}
	for _, pv := range s.PVs()[:3] {
		if _, err := read(t, s, pv); !errors.Is(err, errSilent) || !errors.Is(err, upstream.ErrSilent) {
			t.Errorf("%s: %v", pv, err)
		}
	}
	n := requests.n.Load()
	if n != 3*tries {
		t.Errorf("there were %d requests", n)
	}
	if _, err := read(t, s, "A:E"); !errors.Is(err, errAway) || requests.n.Load() != n {
		t.Errorf("the fourth PV: %v, %d more requests", err, requests.n.Load()-n)
	}
}

// TestUnknownPVsAndRefusals are named.
func TestUnknownPVsAndRefusals(t *testing.T) {
	_, s := serve(t, time.Minute, func(w http.ResponseWriter, r *http.Request, _ string, _ time.Time) bool {
		if r.URL.Query().Get("pv") == "A:B" {
			http.NotFound(w, r)
		} else {
			http.Error(w, "", http.StatusForbidden)
		}
		return true
	})
	to, err := read(t, s, "A:B")
	if err != nil || len(to.problems) != 1 || !strings.Contains(to.problems[0], "does not know the PV") {
		t.Errorf("an unknown PV: %q, %v", to.problems, err)
	}
	if _, err := read(t, s, "A:C"); err == nil || !strings.Contains(err.Error(), "403 Forbidden") {
		t.Errorf("a PV that may not be read: %v", err)
	}
}
