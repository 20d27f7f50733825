package peer

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// fakeEngine is an engine with fixed answers.
type fakeEngine struct {
	held     map[string]query.Held
	flushed  query.Held
	statuses []capture.Status // sorted by name
	fails    int              // number of statuses after which Statuses fails; -1: never
	busy     atomic.Bool
	last     query.RecentRequest // the last request
}

func (p *fakeEngine) Recent(_ context.Context, q query.RecentRequest) query.Held {
	p.last = q
	return p.held[q.PV]
}

func (p *fakeEngine) Flushed(query.RecentRequest) query.Held { return p.flushed }

func (p *fakeEngine) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		for i, s := range p.statuses {
			if i == p.fails {
				yield(capture.Status{}, errors.New("no more"))
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (p *fakeEngine) Status(_ context.Context, pv string) (capture.Status, bool, error) {
	for _, s := range p.statuses {
		if s.PV == pv {
			return s, true, nil
		}
	}
	return capture.Status{}, false, nil
}

// serve starts a server of an engine and returns its address.
func serve(t *testing.T, p *fakeEngine) string {
	mux := http.NewServeMux()
	NewHandler(p, p.busy.Load, prometheus.NewRegistry()).Register(mux)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

func client(t *testing.T) *Client {
	c := &Client{HTTP: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(c.HTTP.CloseIdleConnections)
	return c
}

func numbers(n int) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for i := range n {
		r.Append(&sample.Sample{Time: int64(i) * 1e9, Word: math.Float64bits(float64(i)), Tag: sample.MakeTag(sample.Minor, 4)})
	}
	return r
}

func text(values ...string) *sample.Run {
	r := &sample.Run{Type: sample.String}
	for i, v := range values {
		r.Append(&sample.Sample{Time: int64(len(values) - i), Bytes: []byte(v)}) // in order of arrival
	}
	return r
}

// joined joins adjacent runs of one type.
func joined(runs []*sample.Run) (out []*sample.Run) {
	for _, r := range runs {
		if n := len(out); n == 0 || out[n-1].Type != r.Type {
			out = append(out, &sample.Run{Type: r.Type})
		}
		out[len(out)-1].AppendRange(r, 0, r.Len())
	}
	return out
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), sameMetadata); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

var sameMetadata = cmp.Comparer(func(a, b *sample.Metadata) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(b) && a.Host == b.Host
})

func TestRecentReturnsWhatTheEngineHolds(t *testing.T) {
	p := &fakeEngine{held: map[string]query.Held{
		"NEW":  {Known: true, Shards: []int{7}, Covers: []store.WriterID{{1}}},
		"LONG": {Known: true, Shards: []int{7, 4000}, Covers: []store.WriterID{{1}, {2, 3}}, Runs: []*sample.Run{numbers(10_000), text("b", "", "a")}},
	}}
	url, c := serve(t, p), client(t)
	for _, pv := range []string{"NEW", "LONG", "NOBODY"} {
		got, err := c.Recent(t.Context(), url, query.RecentRequest{PV: pv})
		if err != nil {
			t.Fatal(err)
		}
		want := p.held[pv]
		got.Runs, want.Runs = joined(got.Runs), joined(want.Runs)
		equal(t, pv, got, want)
	}
	// A name arrives as it is: the sender has checked who may read it.
	q := query.RecentRequest{PV: "ca://LONG.VAL", Shards: []int{7, 4000}, From: query.Earliest, To: 5}
	_, err := c.Recent(t.Context(), url, q)
	equal(t, "the request", p.last, q)
	if err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"", "from=1&to=2", "pv=A&pv=B&from=1&to=2", "pv=A&from=now&to=2", "pv=A&from=1", "pv=A&from=1&to=2&shard=-1"} {
		if res, err := http.Get(url + RecentPath + "?" + wrong); err != nil || res.StatusCode != http.StatusBadRequest {
			t.Errorf("the answer to %q is %v, %v", wrong, res, err)
		}
	}
}

func TestLargeValuesArriveUnchanged(t *testing.T) {
	big := strings.Repeat("x", 9<<20)
	want := text(big, big, big, "end")
	url := serve(t, &fakeEngine{held: map[string]query.Held{"A": {Runs: []*sample.Run{want}}}})
	got, err := client(t).Recent(t.Context(), url, query.RecentRequest{PV: "A"})
	if err != nil {
		t.Fatal(err)
	}
	if r := joined(got.Runs); len(r) != 1 || !bytes.Equal(r[0].Bytes, want.Bytes) || !slices.Equal(r[0].Times, want.Times) {
		t.Error("the values differ")
	}
}

// TestEngineWithMissingSamplesIsNoAnswer checks that an engine that cannot return all samples
// it holds counts as an engine without an answer.
func TestEngineWithMissingSamplesIsNoAnswer(t *testing.T) {
	tooMuch := query.Held{Known: true, Runs: []*sample.Run{numbers(3)}, Missing: errors.New("too many samples")}
	url := serve(t, &fakeEngine{held: map[string]query.Held{"A": tooMuch}})
	held, err := client(t).Recent(t.Context(), url, query.RecentRequest{PV: "A"})
	if !errors.Is(err, query.ErrNoAnswer) || !strings.Contains(err.Error(), "too many samples") || len(held.Runs) > 0 {
		t.Errorf("it answers %+v, %v", held, err)
	}
}

// TestFailuresAreErrNoAnswer checks that every failure to get an answer is reported as
// ErrNoAnswer.
func TestFailuresAreErrNoAnswer(t *testing.T) {
	held := query.Held{Runs: []*sample.Run{numbers(10)}}
	whole := AppendHeld(nil, &held)
	answers := map[string]http.HandlerFunc{
		"refuses":         func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not now", http.StatusServiceUnavailable) },
		"answers nothing": func(http.ResponseWriter, *http.Request) {},
		"stops early":     func(w http.ResponseWriter, _ *http.Request) { w.Write(append([]byte{200, 1}, whole[:20]...)) },
		"claims too much": func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte{255, 255, 255, 255, 255, 255, 1}) },
		"is newer":        func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte{3, 9, 0, 0}) },
		"is another server": func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte("<!doctype html><title>Sign in</title>"))
		},
	}
	for name, answer := range answers {
		srv := httptest.NewServer(answer)
		c := client(t)
		if _, err := c.Recent(t.Context(), srv.URL, query.RecentRequest{PV: "A"}); !errors.Is(err, query.ErrNoAnswer) {
			t.Errorf("Recent of an engine that %s gives %v", name, err)
		}
		if _, _, err := c.Status(t.Context(), srv.URL, "A"); !errors.Is(err, query.ErrNoAnswer) {
			t.Errorf("Status of an engine that %s gives %v", name, err)
		}
		srv.Close()
		if _, err := c.Recent(t.Context(), srv.URL, query.RecentRequest{PV: "A"}); !errors.Is(err, query.ErrNoAnswer) {
			t.Errorf("Recent of a stopped engine gives %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer srv.Close()
	if _, err := client(t).Recent(ctx, srv.URL, query.RecentRequest{PV: "A"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Recent of a cancelled context gives %v", err)
	}
}

func channels() []capture.Status {
	all := []capture.Status{
		{PV: "A", Group: "lab/one", State: capture.Searching, Sampling: "Scan 10s", Cause: "no IOC has it"},
		{
			PV: "B", Group: "lab/one", Provider: capture.PVA, State: capture.Connected, Since: 1_700_000_000e9, Host: "ioc:5064", Type: sample.String, TypeName: "NTScalar", Count: 1, Suspected: 3,
			Retention: store.Retention{Raw: store.Keep90d, Levels: [store.MaxLevels]store.Level{store.LevelOf(1e9, store.Keep2y)}},
			Sampling:  "Monitor", Rate: 9.5, Connects: 2, LostConnections: 1, Received: 1 << 60, Stored: 7, HasLast: true, Filters: "deadband 0.5",
			Update: capture.Update{Arrived: 1_700_000_001e9, Time: 1_700_000_000e9, First: true, Dropped: true, Reason: sample.Deadband},
			Last:   sample.Sample{Time: 5, Bytes: []byte{0xff, 'x'}, Tag: sample.MakeTag(sample.Major, 3)},
			Metadata: &sample.Metadata{
				Units: "mbar", Precision: 2, WarnHigh: 1.5, WarnLow: math.NaN(), Labels: []string{"", "on"},
				Type: sample.String, Count: 1, Host: "ioc:5064", Properties: []sample.Property{{Name: "DESC", Value: "pressure"}},
			},
		},
		{PV: "C", Group: "lab/two", State: capture.Connected, EnabledBy: "E != 0 is met: E is 1", Type: sample.Float64, HasLast: true, Last: sample.Sample{Word: math.Float64bits(math.NaN())}},
	}
	all[1].Dropped[sample.Deadband], all[1].Dropped[sample.Overflow] = 5, 6
	return all
}

func TestStatuses(t *testing.T) {
	p := &fakeEngine{statuses: channels(), fails: -1}
	url, c := serve(t, p), client(t)
	var got []capture.Status
	for s, err := range c.Statuses(t.Context(), url) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	equal(t, "all channels", got, p.statuses)
	for range c.Statuses(t.Context(), url) {
		break // the client may stop before the end of the answer
	}
	s, captured, err := c.Status(t.Context(), url, "B")
	if err != nil || !captured {
		t.Fatalf("B: captured is %v, %v", captured, err)
	}
	equal(t, "B", s, p.statuses[1])
	if _, captured, err := c.Status(t.Context(), url, "Z"); captured || err != nil {
		t.Errorf("a PV that no engine captures: %v, %v", captured, err)
	}
}

func TestFilters(t *testing.T) {
	url := serve(t, &fakeEngine{statuses: channels(), fails: -1})
	for q, want := range map[string]string{
		"": "ABC", "pv=B": "B", "pv=%3F": "ABC", "state=connected": "BC", "group=lab/one": "AB", "after=A": "BC",
		"limit=2": "AB", "limit=0": "", "after=A&state=connected&limit=1": "B", "name=C": "C", "name=D": "",
	} {
		res, err := http.Get(url + ChannelsPath + "?" + q)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for s, err := range lines(res.Body) {
			if err != nil {
				t.Fatal(err)
			}
			got += s.PV
		}
		res.Body.Close()
		if got != want {
			t.Errorf("%q gives %s, want %s", q, got, want)
		}
	}
}

// TestBadFiltersAreRefused checks that the handler refuses filters that it cannot read, and patterns
// that would take too long.
func TestBadFiltersAreRefused(t *testing.T) {
	url := serve(t, &fakeEngine{statuses: channels(), fails: -1})
	for q, says := range map[string]string{
		"limit=x":                                 `parameter limit: "x" is not a whole number`,
		"pv=*" + strings.Repeat("a", 24_000):      "has 24001 bytes, and may have at most 256",
		"pv=" + strings.Repeat("*a", 129) + "%3F": "has 259 bytes, and may have at most 256",
	} {
		res, err := http.Get(url + ChannelsPath + "?" + q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), says) {
			t.Errorf("%.30q gives %s: %s, %v", q, res.Status, text, err)
		}
	}
}

// TestIncompleteListIsAnError checks that an incomplete list ends with an error.
func TestIncompleteListIsAnError(t *testing.T) {
	url := serve(t, &fakeEngine{statuses: channels(), fails: 2})
	n := 0
	var last error
	for _, err := range client(t).Statuses(t.Context(), url) {
		n, last = n+1, err
	}
	if !errors.Is(last, query.ErrNoAnswer) || n > 3 {
		t.Errorf("%d entries, the last is %v", n, last)
	}
}

func FuzzDecodeHeld(f *testing.F) {
	held := query.Held{
		Known: true, Unanswered: true, Shards: []int{1, 300}, Covers: []store.WriterID{{1}}, Connected: 5,
		Flushed: []query.Flushed{{Writer: store.WriterID{2}, Until: query.Earliest}}, Runs: []*sample.Run{numbers(3), text("a", "b")},
	}
	whole := AppendHeld(nil, &held)
	f.Add(whole)
	f.Add(AppendHeld(nil, &query.Held{}))
	f.Add([]byte{1, 0, 255, 255, 3})
	f.Add([]byte{2})
	f.Add([]byte{2, 3, 0, 0, 0, 0, 0})
	for i := range whole {
		if _, err := DecodeHeld(whole[:i]); err == nil {
			f.Errorf("an answer truncated to %d of %d bytes decodes", i, len(whole))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		h, err := DecodeHeld(src)
		if err != nil {
			return
		}
		again, err := DecodeHeld(AppendHeld(nil, &h))
		if err != nil {
			t.Fatal(err)
		}
		again.Runs, h.Runs = joined(again.Runs), joined(h.Runs)
		if d := cmp.Diff(h, again, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("encoded again it differs:\n%s", d)
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"pv\":\"A\",\"type\":1}\n{\"end\":true}\n"))
	f.Add([]byte("{\"pv\":\"A\",\"last\":\"AQ==\"}\n"))
	f.Add([]byte("[]\n{}"))
	f.Fuzz(func(_ *testing.T, src []byte) {
		for s, err := range lines(bytes.NewReader(src)) {
			if err == nil {
				_ = newLine(&s)
			}
		}
	})
}

// TestBusyEngineAnswersHowFarItIsFlushed checks that a busy engine answers a request for samples
// without samples, and says how far they are in the journal. It fails if samples are not in the
// journal for another reason. It still answers the states of its channels.
func TestBusyEngineAnswersHowFarItIsFlushed(t *testing.T) {
	full := query.Held{Known: true, Connected: -7, Covers: []store.WriterID{{1}}, Runs: []*sample.Run{numbers(3)}}
	p := &fakeEngine{held: map[string]query.Held{"A": full}, statuses: []capture.Status{{PV: "A"}}, fails: -1}
	p.flushed = query.Held{Known: true, Shards: []int{7}, Unanswered: true, Flushed: []query.Flushed{{Writer: store.WriterID{1}, Until: 1e18}, {Writer: store.WriterID{2}, Until: query.Latest}}}
	url, c := serve(t, p), client(t)
	p.busy.Store(true)
	held, err := c.Recent(t.Context(), url, query.RecentRequest{PV: "A"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the answer of a busy engine", held, p.flushed)
	if _, captured, err := c.Status(t.Context(), url, "A"); !captured || err != nil {
		t.Errorf("a busy engine does not answer the state of its channel: %v, %v", captured, err)
	}
	p.flushed.Missing = errors.New("samples wait in the spool")
	if held, err := c.Recent(t.Context(), url, query.RecentRequest{PV: "A"}); err == nil || !strings.Contains(err.Error(), "spool") {
		t.Errorf("an engine whose samples are in its spool answers %+v, %v", held, err)
	}
	p.busy.Store(false)
	held, err = c.Recent(t.Context(), url, query.RecentRequest{PV: "A"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the answer afterwards", held, full)
}

// TestAnswersKeepTheirBytes checks that answers of each version decode, and that an answer is
// encoded in the present version.
func TestAnswersKeepTheirBytes(t *testing.T) {
	run := &sample.Run{Type: sample.Float64}
	run.Append(&sample.Sample{Time: 1_700_000_000e9, Word: math.Float64bits(7)})
	first := query.Held{Known: true, Shards: []int{7}, Covers: []store.WriterID{{1}}, Runs: []*sample.Run{run}}
	second := first
	second.Unanswered, second.Flushed, second.Connected = true, []query.Flushed{{Writer: store.WriterID{2}, Until: 64}}, -1
	const block = "0f 020b01 000080c49fd50c 0001 00000e" // SR01:P2 of docs/format/journal.md
	for text, want := range map[string]*query.Held{
		"01 01 0107 01 01000000000000000000000000000000 " + block + " 00":                                             &first,
		"02 03 0107 01 01000000000000000000000000000000 01 02000000000000000000000000000000 8001 01 " + block + " 00": &second,
	} {
		raw, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeHeld(raw)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, text[:2], got, *want)
		if again := AppendHeld(nil, want); raw[0] == version && !bytes.Equal(again, raw) {
			t.Errorf("version %d is encoded as %x, want %x", version, again, raw)
		}
	}
}
