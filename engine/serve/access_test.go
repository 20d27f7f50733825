package serve

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/access"
	"varve.dev/varve/engine/store"
)

// guarded is an archive with access rules: the PVs SECRET* are for the group vacuum.
type guarded struct {
	*rig
	cfg *Config
	// ann is in the group vacuum. The token of old has expired.
	ann, bob, old string
}

// memory is an engine that captures a PV of which the store has nothing.
type memory struct{}

func (memory) Recent(_ context.Context, q query.RecentRequest) query.Held {
	return query.Held{Known: q.PV == "SECRET:B"}
}

const secretRule = "readers: [{pvs: ['SECRET*'], groups: [vacuum]}]\ndefault: everybody\n"

// newGuarded returns an archive with an access file, in which TOKENS stands for the file of tokens.
func newGuarded(t *testing.T, file string) *guarded {
	t.Helper()
	r := &rig{t: t, store: openStore(t)}
	g := &guarded{rig: r}
	g.fill()
	dir, tokens := t.TempDir(), ""
	for _, who := range []struct {
		name, group string
		until       time.Duration
		secret      *string
	}{{"ann", "vacuum", time.Hour, &g.ann}, {"bob", "staff", time.Hour, &g.bob}, {"old", "vacuum", -time.Second, &g.old}} {
		secret, line, err := access.NewToken(who.name, []string{who.group}, time.Unix(0, newYear).Add(who.until))
		r.check(err)
		*who.secret = secret
		tokens += line + "\n"
	}
	r.check(os.WriteFile(filepath.Join(dir, "tokens"), []byte(tokens), 0o600))
	path := filepath.Join(dir, "access.yaml")
	r.check(os.WriteFile(path, []byte(file), 0o600))
	parsed, err := access.Load(path)
	r.check(err)
	now := func() time.Time { return time.Unix(0, newYear) }
	who, err := access.New(parsed, access.Options{Now: now, Log: slog.New(slog.DiscardHandler), Hostname: "archiver"})
	r.check(err)
	reg := prometheus.NewRegistry()
	g.cfg = &Config{
		Reader: &query.Reader{
			Store: r.store, Shards: 4, Now: func() int64 { return newYear }, Recent: memory{},
			Index: nameindex.New(nameindex.Config{Store: r.store, Captured: capturedNames{"PUBLIC:X", "SECRET:A", "SECRET:B"}}),
		},
		Channels: &r.channels, Gatherer: reg,
		Metrics: NewMetrics(reg), Ready: func() error { return nil }, Warnings: func() []string { return []string{"SECRET:A is faulty"} },
		Version: "1.2.3", Now: now, Log: slog.New(slog.DiscardHandler), Access: who,
	}
	g.serve()
	return g
}

// capturedNames are captured PVs that never change.
type capturedNames []string

func (c capturedNames) Names() iter.Seq[string] { return slices.Values(c) }
func (c capturedNames) Captures(pv string) bool { return slices.Contains(c, pv) }
func (c capturedNames) NamesVersion() uint64    { return 1 }

// serve starts the server of the configuration.
func (g *guarded) serve() {
	h, err := New(g.cfg)
	g.check(err)
	srv := httptest.NewServer(h)
	g.t.Cleanup(srv.Close)
	g.url = srv.URL
}

// fill stores samples, metadata and marks of a secret PV and of a public one.
func (g *guarded) fill() {
	for _, pv := range []string{"PUBLIC:X", "SECRET:A", "SECRET:A.DESC"} {
		g.put(pv, ramp(newYear, 30), 1)
		g.check(g.store.PutMetadata(g.t.Context(), store.PVMetadata{PV: pv, Time: newYear, Metadata: sample.Metadata{Units: "mbar"}}))
		g.check(g.store.PutMarks(g.t.Context(), store.PVMark{PV: pv, Mark: sample.Mark{Time: newYear + 10*second, Kind: sample.Disconnected}}))
	}
	g.channels = channels{
		{PV: "PUBLIC:X", Group: "ns/public", State: capture.Connected, Since: newYear, Sampling: "Monitor"},
		{PV: "SECRET:A", Group: "ns/secret", State: capture.Connected, Since: newYear, Sampling: "Monitor", Metadata: withDescription("a secret")},
		{PV: "SECRET:A.DESC", Group: "ns/secret", State: capture.Paused, Since: newYear, Sampling: "Monitor"},
	}
}

const allMethods = "access:\n- tokens: {file: tokens}\n"

// ask sends a request of the table of routes for a PV, and returns the answer.
func (g *guarded) ask(ask, pv, token string) (*http.Response, string) {
	g.t.Helper()
	ask = strings.ReplaceAll(strings.ReplaceAll(ask, "%s", pv), "%%", "%")
	path, body, post := strings.Cut(ask, " ")
	method, headers := http.MethodGet, []string(nil)
	if post {
		method, headers = http.MethodPost, []string{"Content-Type", "application/x-www-form-urlencoded"}
	}
	if token != "" {
		headers = append(headers, "Authorization", "Bearer "+token)
	}
	if strings.HasPrefix(path, "/api/v1/live") { // a stream that begins is long
		return g.begin(path, headers)
	}
	res, text, err := g.do(method, path, body, headers...)
	g.check(err)
	return res, text
}

// begin returns only the header of an answer.
func (g *guarded) begin(path string, headers []string) (*http.Response, string) {
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodGet, g.url+path, http.NoBody)
	g.check(err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	g.check(err)
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		return res, ""
	}
	text, err := io.ReadAll(res.Body)
	g.check(err)
	return res, string(text)
}

// TestEveryRouteIsInTheTableOfAccess makes sure that a new route is tested below.
func TestEveryRouteIsInTheTableOfAccess(t *testing.T) {
	g := newGuarded(t, allMethods)
	var listed []string
	for _, r := range append(guardedRoutes(), openRoutes...) {
		listed = append(listed, r.pattern)
	}
	for _, p := range patterns(g.cfg.mux()) {
		if !slices.Contains(listed, p) {
			t.Errorf("the route %q is not in the tables of routes_table_test.go", p)
		}
	}
	if n := len(patterns(g.cfg.mux())); n < 100 {
		t.Errorf("the mux has only %d routes", n)
	}
}

// TestEveryRouteNeedsAnIdentity asks each route with each kind of credentials.
func TestEveryRouteNeedsAnIdentity(t *testing.T) {
	tokens := newGuarded(t, allMethods)
	network := newGuarded(t, "access:\n- networks: [{cidr: 127.0.0.0/8, groups: [control-room]}]\n")
	strangers := newGuarded(t, "access:\n- networks: [{cidr: 10.0.0.0/8}]\n")
	anonymous := newGuarded(t, "access:\n- tokens: {file: tokens}\n- anonymous: {}\n")
	for _, c := range []struct {
		name  string
		g     *guarded
		token string
		code  int // 0: the route answers
	}{
		{"no token", tokens, "", http.StatusUnauthorized},
		{"token", tokens, tokens.ann, 0},
		{"expired token", tokens, tokens.old, http.StatusUnauthorized},
		{"token of another archive", tokens, network.ann, http.StatusUnauthorized},
		{"malformed token", tokens, "varve_!", http.StatusUnauthorized},
		{"network", network, "", 0},
		{"other network", strangers, "", http.StatusForbidden},
		{"anonymous", anonymous, "", 0},
		{"anonymous with a wrong token", anonymous, "wrong", http.StatusUnauthorized},
	} {
		for _, r := range guardedRoutes() {
			res, text := c.g.ask(r.ask[0], "SECRET:A", c.token)
			refused := res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden && !strings.Contains(text, "ArchiveGroup")
			switch {
			case c.code == 0 && refused:
				t.Errorf("%s: %s answers %d %s", c.name, r.pattern, res.StatusCode, text)
			case c.code != 0 && (res.StatusCode != c.code || strings.Contains(text, "SECRET")):
				t.Errorf("%s: %s answers %d %s, want %d", c.name, r.pattern, res.StatusCode, text, c.code)
			case c.code == http.StatusUnauthorized && len(res.Header.Values("WWW-Authenticate")) != 2:
				t.Errorf("%s: %s has the challenges %q", c.name, r.pattern, res.Header.Values("WWW-Authenticate"))
			}
		}
		for _, r := range openRoutes {
			if res, text := c.g.ask(r.ask[0], "", c.token); res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden || strings.Contains(text, "SECRET") && (c.g == tokens || c.g == strangers) {
				t.Errorf("%s: %s answers %d %s", c.name, r.pattern, res.StatusCode, text)
			}
		}
	}
}

// TestHiddenPVsLookUnknown compares every answer about a hidden PV with that about a PV that does not
// exist.
func TestHiddenPVsLookUnknown(t *testing.T) {
	g := newGuarded(t, allMethods+secretRule)
	if n := g.compareHidden("SECRET:A", "NOSUCH:A"); n < 60 {
		t.Errorf("only %d answers differ for a reader who may read the PV: the test compares too little", n)
	}
	if n := g.compareHidden("SECRET:B", "NOSUCH:B"); n < 10 { // only in the memory of an engine
		t.Errorf("only %d answers differ for a reader who may read the PV that is not in the store", n)
	}
}

// compareHidden compares the answers about a hidden PV with those about a PV that does not exist. It
// returns how many answers differ for a reader who may read the PV.
func (g *guarded) compareHidden(hidden, unknown string) (shows int) {
	for _, r := range guardedRoutes() {
		for _, ask := range r.ask {
			res, text := g.ask(ask, hidden, g.bob)
			other, want := g.ask(ask, unknown, g.bob)
			// The answer may repeat the name that the client has sent.
			if same := strings.ReplaceAll(text, hidden, unknown); !alike(r, same, want) || res.StatusCode != other.StatusCode {
				g.t.Errorf("GET %s answers %d %s for a hidden PV, and %d %s for an unknown one", ask, res.StatusCode, text, other.StatusCode, want)
			}
			if strings.Contains(strings.ReplaceAll(want, "ns/secret", ""), "SECRET") {
				g.t.Errorf("GET %s names a hidden PV: %s", ask, want)
			}
			res, text = g.ask(ask, hidden, g.ann)
			if !alike(r, strings.ReplaceAll(text, hidden, unknown), want) || res.StatusCode != other.StatusCode {
				shows++
			}
		}
	}
	return shows
}

// alike compares answers. Metrics change with each request.
func alike(r route, a, b string) bool { return a == b || r.pattern == "GET /metrics" }

// TestAHiddenFileStaysHiddenInTheCache checks that a reader does not get the file that another one has
// built.
func TestAHiddenFileStaysHiddenInTheCache(t *testing.T) {
	g := newGuarded(t, allMethods+secretRule)
	const path = "/api/v1/files/SECRET:A/2026-01-01.parquet"
	if res, text := g.ask(path, "", g.ann); res.StatusCode != http.StatusOK {
		t.Fatalf("the file answers %d %s", res.StatusCode, text)
	}
	if res, text := g.ask(path, "", g.bob); res.StatusCode != http.StatusNotFound {
		t.Errorf("the file answers %d %.100s to a reader who may not read the PV", res.StatusCode, text)
	}
}

// TestProblemsAreForThoseWhoReadEverything checks that problems, which may name PVs, are not shown.
func TestProblemsAreForThoseWhoReadEverything(t *testing.T) {
	g := newGuarded(t, allMethods+secretRule)
	for token, want := range map[string]bool{g.bob: false, g.ann: true} {
		if _, text := g.ask("/api/v1/status", "", token); strings.Contains(text, "is faulty") != want {
			t.Errorf("the status is %s; it has problems: want %t", text, want)
		}
	}
	if _, text := g.ask("/readyz", "", g.ann); strings.Contains(text, "is faulty") {
		t.Errorf("/readyz shows problems without an identity: %s", text)
	}
	everybody := newGuarded(t, "access: [{anonymous: {}}]")
	if _, text := everybody.ask("/readyz", "", ""); !strings.Contains(text, "is faulty") {
		t.Errorf("/readyz of an archive that everybody may read is %s", text)
	}
}

// TestPasswordsAreTokens checks that clients that send only names and passwords can read.
func TestPasswordsAreTokens(t *testing.T) {
	g := newGuarded(t, allMethods)
	for password, want := range map[string]int{g.ann: 200, "": 401, g.old: 401} {
		req := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		req.SetBasicAuth("anybody", password)
		res, _, err := g.do(http.MethodGet, "/api/v1/status", "", "Authorization", req.Header.Get("Authorization"))
		if g.check(err); res.StatusCode != want {
			t.Errorf("the password %q answers %d, want %d", password, res.StatusCode, want)
		}
	}
}

// TestForeignPagesCannotPost checks that a web page of another site cannot make a browser send a body.
func TestForeignPagesCannotPost(t *testing.T) {
	r := newRig(t)
	for site, want := range map[string]int{"cross-site": http.StatusForbidden, "same-origin": http.StatusOK, "": http.StatusOK} {
		headers := []string{"Content-Type", "text/plain"}
		if site != "" {
			headers = append(headers, "Sec-Fetch-Site", site)
		}
		res, text, err := r.do(http.MethodPost, "/mgmt/bpl/archivedPVs", "A", headers...)
		if err != nil || res.StatusCode != want {
			t.Errorf("%s: %v, %d %s, want %d", site, err, res.StatusCode, text, want)
		}
		if res.Close != (want == http.StatusForbidden) { // without waiting for the rest of a body
			t.Errorf("%s: the connection is closed: %t", site, res.Close)
		}
	}
}

// TestHostsAndOrigins checks which hosts and web pages may read.
func TestHostsAndOrigins(t *testing.T) {
	g := newGuarded(t, "access: [{anonymous: {}}]\nhosts: [archive.lab.org]\norigins: ['https://grafana.lab.org']\n")
	h, err := New(g.cfg)
	g.check(err)
	send := func(method, host, origin string) *httptest.ResponseRecorder {
		req, w := httptest.NewRequest(method, "/api/v1/status", http.NoBody), httptest.NewRecorder()
		req.Host = host
		if origin != "" {
			req.Header.Set("Origin", origin)
			req.Header.Set("Access-Control-Request-Headers", "authorization")
		}
		h.ServeHTTP(w, req)
		return w
	}
	for host, want := range map[string]int{
		"127.0.0.1:17665": 200, "[::1]:17665": 200, "10.1.2.3": 200, "localhost:17665": 200, "ARCHIVE.lab.org.": 200, "archiver:80": 200,
		"evil.example.org": 421, "archive.lab.org.evil.example.org": 421, "127.0.0.1.evil.example.org:17665": 421,
	} {
		if w := send(http.MethodGet, host, ""); w.Code != want {
			t.Errorf("host %s: %d %s, want %d", host, w.Code, w.Body, want)
		}
	}
	for path, want := range map[string]int{"/readyz": 421, "/metrics": 421, "/healthz": 200} {
		req, w := httptest.NewRequest(http.MethodGet, path, http.NoBody), httptest.NewRecorder()
		req.Host = "evil.example.org"
		if h.ServeHTTP(w, req); w.Code != want {
			t.Errorf("%s of another host answers %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
	for origin, want := range map[string]string{"https://grafana.lab.org": "https://grafana.lab.org", "https://evil.example.org": "", "null": "", "": ""} {
		for _, method := range []string{http.MethodGet, http.MethodOptions} {
			w := send(method, "localhost", origin)
			if got := w.Header().Get("Access-Control-Allow-Origin"); got != want || w.Header().Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s with origin %q allows %q, want %q", method, origin, got, want)
			}
		}
	}
	w := send(http.MethodOptions, "localhost", "https://grafana.lab.org")
	if w.Header().Get("Access-Control-Allow-Headers") != "authorization" || w.Header().Get("Vary") != "Origin" {
		t.Errorf("the answer to a preflight has the header %v", w.Header())
	}
}

// TestAnswersProtectBrowsers checks headers of all answers.
func TestAnswersProtectBrowsers(t *testing.T) {
	g := newGuarded(t, allMethods)
	for _, path := range []string{"/", "/api/", "/api/v1/status", "/none", "/retrieval/ping"} {
		for _, token := range []string{"", g.ann} {
			res, _ := g.ask(path, "", token)
			if h := res.Header; h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("%s has the header %v", path, h)
			}
		}
	}
}

// TestOpenAccessCostsNothing checks that reads of an archive that everybody may read are not wrapped.
func TestOpenAccessCostsNothing(t *testing.T) {
	g := newGuarded(t, "access: [{anonymous: {}}]")
	if h := g.cfg.hiding(); h.Reader != g.cfg.Reader || h.Channels != g.cfg.Channels {
		t.Error("the reader is wrapped")
	}
	restricted := newGuarded(t, allMethods+secretRule)
	if h := restricted.cfg.hiding(); h.Reader == restricted.cfg.Reader {
		t.Error("the reader is not wrapped, though a rule hides PVs")
	}
}

// TestRequestsCountByRoute checks that metrics have the route, behind all that wraps it.
func TestRequestsCountByRoute(t *testing.T) {
	g := newGuarded(t, allMethods)
	g.ask("/api/v1/status", "", g.ann)
	_, text := g.ask("/metrics", "", g.ann)
	if want := fmt.Sprintf("varve_http_requests_total{code=%q,route=%q} 1", "200", "GET /api/v1/status"); !strings.Contains(text, want) {
		t.Errorf("the metrics lack %s", want)
	}
}

// TestScriptsAskForTheTokenThemselves checks that browsers ask for no password when a script of the UI is
// refused, and that answers say whether tokens count.
func TestScriptsAskForTheTokenThemselves(t *testing.T) {
	g := newGuarded(t, allMethods)
	for header, want := range map[string]int{"X-Requested-With": 1, "X-Other": 2} {
		res, _, err := g.do(http.MethodGet, "/api/v1/names", "", header, "fetch")
		g.check(err)
		if got := res.Header.Values("WWW-Authenticate"); len(got) != want || got[0] != `Bearer realm="Varve"` {
			t.Errorf("with %s, the challenges are %q", header, got)
		}
	}
	network := newGuarded(t, "access:\n- networks: [{cidr: 127.0.0.0/8}]\n")
	for of, want := range map[*guarded]bool{g: true, network: false} {
		for _, path := range []string{"/healthz", "/api/v1/names"} {
			res, _, err := of.do(http.MethodGet, path, "")
			g.check(err)
			if got := slices.Contains(res.Header.Values("Vary"), "Authorization"); got != want {
				t.Errorf("%s varies with the token: %t, want %t", path, got, want)
			}
		}
	}
}
