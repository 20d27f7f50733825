package through

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
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/sample"
)

var escapes = strings.NewReplacer("\x1b", "\x1b\x01", "\n", "\x1b\x02", "\r", "\x1b\x03")

// header returns the first line of a chunk of doubles, in 2026, with a unit.
func header(pv string) string {
	return escapes.Replace(fmt.Sprintf("\x08\x06\x12%c%s\x18\xea\x0f\x20\x01\x7a\x09\x0a\x03EGU\x12\x02mA", len(pv), pv)) + "\n"
}

// double returns the line of a sample at a second of the year.
func double(second uint64, v float64) string {
	msg := append(binary.AppendUvarint([]byte{8}, second), "\x10\x00\x19"...)
	return escapes.Replace(string(binary.LittleEndian.AppendUint64(msg, math.Float64bits(v)))) + "\n"
}

// at returns a second of 2026 in ns since 1970.
func at(second int64) int64 {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano() + second*1e9
}

// peer is an older archive whose answers a test writes.
type peer struct {
	*Archive
	requests atomic.Int64
	paused   []time.Duration
	now      time.Time
	registry *prometheus.Registry
}

// metric returns the sum of the counters and gauges with a name whose labels have a value. "" is any value.
func (p *peer) metric(t *testing.T, name, label string) (sum float64) {
	t.Helper()
	all, err := p.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || len(m.GetLabel()) == 1 && m.GetLabel()[0].GetValue() == label) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// newPeer returns an Archive that asks a handler. The handler gets only requests for samples and names; the
// archive answers getVersion.
func newPeer(t *testing.T, cfg Config, h http.HandlerFunc) *peer {
	t.Helper()
	p := &peer{now: time.Unix(0, at(1000)), registry: prometheus.NewRegistry()}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/retrieval/bpl/getVersion" {
			_, _ = io.WriteString(w, "{}")
			return
		}
		p.requests.Add(1)
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	base, err := ParseURL(srv.URL + "/retrieval")
	if err != nil {
		t.Fatal(err)
	}
	cfg.URL, cfg.Registerer, cfg.Now = base, p.registry, func() time.Time { return p.now }
	cfg.Pause = func(_ context.Context, d time.Duration) error {
		p.paused = append(p.paused, d)
		return nil
	}
	p.Archive = New(cfg)
	t.Cleanup(p.Close)
	return p
}

// read reads the seconds 2 to 5 of A:B.
func (p *peer) read(ctx context.Context) (got string, err error) {
	for run, err := range p.samples(ctx, "A:B", at(2), at(5)) {
		if err != nil {
			return got, err
		}
		for _, ns := range run.Times {
			got += fmt.Sprintf("%d ", (ns-at(0))/1e9)
		}
	}
	return got, nil
}

func TestSamplesBeginWithTheLastOneBefore(t *testing.T) {
	p := newPeer(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, header("A:B")+double(0, 1)+double(1, 1)+double(3, 1)+double(9, 1))
	})
	if got, err := p.read(t.Context()); err != nil || got != "1 3 " {
		t.Errorf("read %q, %v", got, err)
	}
	p = newPeer(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, header("A:B")+double(1, 1)) // none in the range
	})
	if got, err := p.read(t.Context()); err != nil || got != "1 " {
		t.Errorf("read %q, %v", got, err)
	}
}

// TestFaults makes the older archive answer wrongly, and expects an error with a reason, and a warning.
func TestFaults(t *testing.T) {
	whole := header("A:B") + double(3, 3) + double(4, 4)
	flush := func(w http.ResponseWriter, text string) {
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
	}
	for name, c := range map[string]struct {
		cfg     Config
		answer  http.HandlerFunc
		reason  string
		message string
	}{
		"cut in a sample": {Config{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, whole[:len(whole)-4]) }, "answer", ""},
		"cut between samples": {Config{}, func(w http.ResponseWriter, _ *http.Request) {
			flush(w, whole)
			panic(http.ErrAbortHandler)
		}, "answer", "unexpected EOF"},
		"shorter than it says": {Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(whole)+100))
			flush(w, whole)
		}, "answer", "unexpected EOF"},
		"always 503": {Config{}, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "later", http.StatusServiceUnavailable) }, "status", "later"},
		"always 429": {Config{}, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "later", http.StatusTooManyRequests) }, "status", "later"},
		"500":        {Config{}, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusInternalServerError) }, "status", "broken"},
		"a page":     {Config{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>\n<body>\n") }, "answer", ""},
		"a login page": {Config{}, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other.invalid/login", http.StatusFound)
		}, "answer", "another host"},
		"a redirect without end": {Config{}, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.String()+"&x=1", http.StatusFound)
		}, "answer", "more than 3 times"},
		"another PV": {Config{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, header("C:D")+double(3, 3)) }, "answer", "another PV"},
		"no order": {Config{}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, header("A:B")+double(4, 3)+double(3, 3))
		}, "answer", "out of order"},
		"a huge head": {Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 200<<10))
			flush(w, whole)
		}, "answer", ""},
		"a loop":   {Config{}, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "loop", http.StatusLoopDetected) }, "loop", ""},
		"too long": {Config{MaxBytes: 30}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, whole) }, "answer", "more than 30 bytes"},
		"silent":   {Config{Idle: 20 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "timeout", "sent nothing"},
		"silent in the middle": {Config{Idle: 20 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
			flush(w, whole)
			<-r.Context().Done()
		}, "timeout", "sent nothing"},
		"slow as a whole": {Config{Whole: 20 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
			flush(w, whole)
			<-r.Context().Done()
		}, "timeout", "took too long"},
		"lost samples of a Varve": {Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Varve-Lost-Samples", "3")
			_, _ = io.WriteString(w, whole)
		}, "answer", "lacks samples"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, c.cfg, c.answer)
			got, err := p.read(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.message) {
				t.Fatalf("read %q, %v", got, err)
			}
			if n := p.metric(t, "varve_read_through_errors_total", c.reason); n != 1 {
				t.Errorf("the error %v does not count as %s", err, c.reason)
			}
			if w := p.Problems(); len(w) != 1 || !strings.Contains(w[0], "2026-01-01T00:16:40Z") {
				t.Errorf("warnings %q", w)
			}
			if n := p.metric(t, "varve_read_through_active", ""); n != 0 || len(p.client.Transport.(*transport).slots) != 0 {
				t.Errorf("%v requests are in flight", n)
			}
		})
	}
}

// TestBusyArchiveIsAskedAgain answers with 503 and 429.
func TestBusyArchiveIsAskedAgain(t *testing.T) {
	var p *peer
	p = newPeer(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
		switch p.requests.Load() {
		case 1:
			w.Header().Set("Retry-After", "3600")
			http.Error(w, "later", http.StatusServiceUnavailable)
		case 2:
			http.Error(w, "later", http.StatusTooManyRequests)
		default:
			_, _ = io.WriteString(w, header("A:B")+double(3, 3))
		}
	})
	got, err := p.read(t.Context())
	if err != nil || got != "3 " || len(p.paused) != 2 || p.paused[0] != longestPause || p.paused[1] != firstPause {
		t.Errorf("read %q, %v, after pauses of %v", got, err, p.paused)
	}
	if n := p.metric(t, "varve_read_through_requests_total", kindSamples); n != 3 {
		t.Errorf("%v requests are counted", n)
	}
	if len(p.Problems()) > 0 {
		t.Errorf("warnings %q", p.Problems())
	}
}

// TestSlotsAreBounded holds one request, and sends another one.
func TestSlotsAreBounded(t *testing.T) {
	p := newPeer(t, Config{AtOnce: 1, Wait: time.Millisecond}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, header("A:B")+double(3, 3))
	})
	first := true
	for range p.samples(t.Context(), "A:B", at(2), at(5)) {
		if _, err := p.read(t.Context()); first && !errors.Is(err, errBusy) {
			t.Errorf("the second request: %v", err)
		}
		first = false
	}
	if got, err := p.read(t.Context()); err != nil || got != "3 " {
		t.Errorf("after the first request: read %q, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the client has gone: %v", err)
	}
}

// TestUnknownPVsAreRemembered counts requests for PVs.
func TestUnknownPVsAreRemembered(t *testing.T) {
	p := newPeer(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("pv") == "NO:ONE" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, header(r.URL.Query().Get("pv"))+double(3, 3))
	})
	for range 3 {
		if o, err := p.outside(t.Context(), "NO:ONE"); err != nil || o.Known {
			t.Errorf("an unknown PV: %+v, %v", o, err)
		}
		o, err := p.outside(t.Context(), "A:B")
		if err != nil || !o.Known || o.Type != sample.Float64 || o.Metadata.Units != "mA" {
			t.Errorf("a known PV: %+v, %v", o, err)
		}
	}
	if n := p.requests.Load(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	for range p.samples(t.Context(), "NO:ONE", at(2), at(5)) {
		t.Error("an unknown PV has samples")
	}
	p.now = p.now.Add(unknownFor)
	_, _ = p.outside(t.Context(), "NO:ONE")
	if n := p.requests.Load(); n != 3 {
		t.Errorf("%d requests after a minute, want 3", n)
	}
}

// TestPostProcessorsAreNoPVs checks that an Appliance, which computes mean_600(X), is not taken for an archive with such a PV.
func TestPostProcessorsAreNoPVs(t *testing.T) {
	p := newPeer(t, Config{}, func(http.ResponseWriter, *http.Request) { t.Error("the older archive is asked") })
	for _, pv := range []string{"mean_600(X)", "nonsense(X)", "ignoreflyers_600_2.5(SR(01):X)", "(X)", "SR(01):X", "X1(X)"} {
		if o, err := p.outside(t.Context(), pv); err != nil || o.Known {
			t.Errorf("%s: %+v, %v", pv, o, err)
		}
		for _, err := range p.samples(t.Context(), pv, at(2), at(5)) {
			t.Errorf("samples of %s, %v", pv, err)
		}
	}
	if !p.asks("X") {
		t.Error("the older archive is not asked for a PV")
	}
}

// TestWrongAddressIsNoArchive checks that a server which knows no path does not look like an archive without PVs.
func TestWrongAddressIsNoArchive(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	base, err := url.Parse(srv.URL + "/retrieval")
	if err != nil {
		t.Fatal(err)
	}
	a := New(Config{Address: Address{URL: base}, Registerer: prometheus.NewRegistry()})
	defer a.Close()
	if o, err := a.outside(t.Context(), "A:B"); err == nil {
		t.Errorf("the PV counts as unknown: %+v", o)
	}
	for _, err := range a.samples(t.Context(), "A:B", at(2), at(5)) {
		if err == nil {
			t.Error("samples of a wrong address")
		}
	}
	if names, err := a.names(t.Context()); err == nil {
		t.Errorf("names %q", names)
	}
	if len(a.Problems()) != 1 {
		t.Errorf("warnings %q", a.Problems())
	}
}

// settle waits until the list of names is not being read.
func (p *peer) settle() {
	p.list.mu.Lock()
	r := p.list.refresh
	p.list.mu.Unlock()
	if r != nil {
		<-r.done
	}
}

// TestNamesAreKept reads a list, which then cannot be read again.
func TestNamesAreKept(t *testing.T) {
	answer := `["B:A", "A:B.VAL", "not a name", "ca://C"]`
	p := newPeer(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); r.URL.Path != "/retrieval/bpl/getMatchingPVs" || q.Get("pv") != "*" || q.Get("limit") != "-1" {
			t.Errorf("the request is %s", r.URL)
		}
		_, _ = io.WriteString(w, answer)
	})
	expect := func(want string, requests int64) {
		t.Helper()
		names, err := p.names(t.Context())
		p.settle()
		if got := strings.Join(names, " "); got != want || (err != nil) != (want == "") || p.requests.Load() != requests {
			t.Errorf("names %q, %v, after %d requests; want %q after %d", got, err, p.requests.Load(), want, requests)
		}
	}
	expect("B:A A:B C", 1)
	expect("B:A A:B C", 1)
	p.now = p.now.Add(listFresh)
	for _, answer = range []string{`["A:B"`, `{"A": 1}`, `["A:B", 7]`, `<html>`, ``} {
		n := p.requests.Load()
		expect("B:A A:B C", n+1)
		expect("B:A A:B C", n+1) // not again at once
		if len(p.Problems()) != 1 {
			t.Errorf("after %q: warnings %q", answer, p.Problems())
		}
		p.now = p.now.Add(listRetry)
	}
	p.now = p.now.Add(listStale)
	expect("", p.requests.Load()+1)
	answer = `[]`
	p.now = p.now.Add(listRetry)
	if names, err := p.names(t.Context()); err != nil || len(names) != 0 || len(p.Problems()) > 0 {
		t.Errorf("an empty archive: %q, %v, warnings %q", names, err, p.Problems())
	}
}

// TestGuardEndsLoops sends requests with chains.
func TestGuardEndsLoops(t *testing.T) {
	var sent string
	p := newPeer(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get(Header)
		_, _ = io.WriteString(w, header("A:B"))
	})
	h := p.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := p.read(r.Context()); err != nil {
			t.Error(err)
		}
	}))
	other := strings.Repeat("0a", idBytes)
	for chain, want := range map[string]struct {
		code int
		sent string
	}{
		"":                 {200, p.id},
		other:              {200, other + "," + p.id},
		p.id:               {508, ""},
		other + "," + p.id: {508, ""},
		strings.Repeat(other+",", maxChain) + other: {508, ""},
		other + ", " + p.id:                         {508, ""}, // as a proxy joins headers
		"me":                                        {400, ""},
		other + ",":                                 {400, ""},
	} {
		sent = ""
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if chain != "" {
			r.Header.Set(Header, chain)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if strings.Contains(w.Body.String(), p.cfg.URL.Host) {
			t.Errorf("chain %q: %s tells the address of the older archive", chain, w.Body)
		}
		if w.Code != want.code || sent != want.sent {
			t.Errorf("chain %q: %d, sent %q; want %d, %q", chain, w.Code, sent, want.code, want.sent)
		}
	}
}

// TestGuardReadsAllHeaders sends a chain in two headers.
func TestGuardReadsAllHeaders(t *testing.T) {
	p := newPeer(t, Config{}, func(http.ResponseWriter, *http.Request) {})
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header[Header] = []string{strings.Repeat("0a", idBytes), p.id}
	w := httptest.NewRecorder()
	p.Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request passes") })).ServeHTTP(w, r)
	if w.Code != http.StatusLoopDetected {
		t.Errorf("status %d", w.Code)
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"http://appliance:17668/retrieval": "", "https://[::1]/archive/retrieval": "",
		"ftp://appliance/retrieval": "http://", "http:///retrieval": "no host", "http://a:b@c/retrieval": "no user name",
		"http://a/retrieval?x=1": "no parameters", "http://a/retrieval/": "slash", "http://a": "retrieval", "://": "not the address", "": "http://",
	} {
		_, err := ParseURL(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
