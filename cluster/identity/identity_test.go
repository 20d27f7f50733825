package identity

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"varve.dev/varve/test/authority"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	engineName    = Of("lab", "main", "engine")
	retrievalName = Of("lab", "main", "retrieval")
	operatorName  = Operator("varve-system")
)

// writeFiles writes the files of a process.
func writeFiles(t testing.TB, dir string, cert, key []byte, authorities ...*authority.Authority) {
	t.Helper()
	var trusted bytes.Buffer
	for _, a := range authorities {
		trusted.Write(a.PEM())
	}
	for name, text := range map[string][]byte{certificateFile: cert, keyFile: key, authorityFile: trusted.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// party returns a process whose certificate an authority has signed.
func party(t testing.TB, by *authority.Authority, self Name, dir string) *Party {
	t.Helper()
	if by != nil {
		cert, key := by.Issue(t, string(self))
		writeFiles(t, dir, cert, key, by)
	}
	return New(Config{Files: Files(dir), Self: self, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
}

// serve answers "hello" until the test ends, and returns the URL.
func serve(t testing.TB, wrap func(net.Listener) net.Listener, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if h == nil {
		h = hello
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Serve(wrap(l)) }()
	t.Cleanup(func() { _ = s.Close(); <-ended })
	return "http://" + l.Addr().String()
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })

// httpClient returns a client that uses a Dialer, or one without TLS.
func httpClient(t testing.TB, d *Dialer) *http.Client {
	transport := &http.Transport{}
	if d != nil {
		transport.DialContext = d.DialContext
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

// get returns "hello", or why the request fails.
func get(c *http.Client, url string) string {
	res, err := c.Get(url)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// failures returns how many clients a server has counted with a reason.
func failures(t testing.TB, p *Party, reason string) float64 {
	t.Helper()
	var m dto.Metric
	if err := p.failures.WithLabelValues(server, reason).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

// presenting returns a client that sends any certificate, and checks nothing itself.
func presenting(t testing.TB, own ...tls.Certificate) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: own}} //nolint:gosec // it is an attacker
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

func certificate(t testing.TB, cert, key []byte) tls.Certificate {
	t.Helper()
	own, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// TestAnEngineAnswersOnlyItsRetrievalPodsAndOperator connects with certificates of every kind.
func TestAnEngineAnswersOnlyItsRetrievalPodsAndOperator(t *testing.T) {
	ours, foreign := authority.New(t), authority.New(t)
	now := time.Now()
	issue := func(by *authority.Authority, uris ...string) []tls.Certificate {
		cert, key := by.Issue(t, uris...)
		return []tls.Certificate{certificate(t, cert, key)}
	}
	valid := func(from, to time.Duration) []tls.Certificate {
		cert, key := ours.IssueBetween(t, now.Add(from), now.Add(to), string(retrievalName))
		return []tls.Certificate{certificate(t, cert, key)}
	}
	malformed := issue(ours, string(retrievalName))
	malformed[0].Certificate, malformed[0].Leaf = [][]byte{{0x30, 0x82, 1, 2, 3}}, nil
	for _, c := range []struct {
		name, reason string // reason is "" if the client is accepted
		own          []tls.Certificate
		log          string
	}{
		{"retrieval", "", issue(ours, string(retrievalName)), ""},
		{"the operator", "", issue(ours, string(operatorName)), ""},
		{"another engine", reasonIdentity, issue(ours, string(engineName)), `presents the certificate of \"spiffe://varve/lab/main/engine\"; wanted: spiffe://varve/lab/main/retrieval or`},
		{"another archive", reasonIdentity, issue(ours, "spiffe://varve/lab/other/retrieval"), "lab/other/retrieval"},
		{"another namespace", reasonIdentity, issue(ours, "spiffe://varve/tenant/main/retrieval"), "tenant/main"},
		{"another operator", reasonIdentity, issue(ours, "spiffe://varve/tenant/operator"), "tenant/operator"},
		{"a longer path", reasonIdentity, issue(ours, string(retrievalName)+"/x"), "retrieval/x"},
		{"two names", reasonIdentity, issue(ours, string(retrievalName), "spiffe://varve/tenant/main/retrieval"), "exactly one"},
		{"a host name only", reasonIdentity, issue(ours, "main-retrieval"), "has no URI"},
		{"a foreign authority", reasonAuthority, issue(foreign, string(retrievalName)), "unknown authority"},
		{"an expired certificate", reasonExpired, valid(-2*time.Hour, -time.Hour), "the clock of this process says"},
		{"a certificate of the future", reasonExpired, valid(time.Hour, 2*time.Hour), "the clock of this process says"},
		{"no certificate", reasonMissing, nil, "presents no certificate"},
		{"a malformed certificate", "malformed", malformed, ""},
		{"a self-signed certificate", reasonAuthority, []tls.Certificate{authority.SelfSigned(t, string(retrievalName))}, "unknown authority"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			engine := party(t, ours, engineName, t.TempDir())
			engine.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
			url := serve(t, func(l net.Listener) net.Listener { return engine.Listener(l, false, retrievalName, operatorName) }, nil)
			got := get(presenting(t, c.own...), strings.Replace(url, "http:", "https:", 1))
			if accepted := got == "hello"; accepted != (c.reason == "") {
				t.Fatalf("answer: %s", got)
			}
			if c.reason == "" || c.reason == "malformed" {
				return
			}
			if n := failures(t, engine, c.reason); n != 1 {
				t.Errorf("%v refusals with reason %s are counted", n, c.reason)
			}
			if !strings.Contains(log.String(), c.log) {
				t.Errorf("the log lacks %q:\n%s", c.log, &log)
			}
		})
	}
}

// TestAClientRefusesOtherServers gives the server different certificates.
func TestAClientRefusesOtherServers(t *testing.T) {
	ours := authority.New(t)
	d := &Dialer{Party: party(t, ours, retrievalName, t.TempDir()), Server: engineName}
	for self, want := range map[Name]string{
		engineName:                        "hello",
		retrievalName:                     `the peer presents the certificate of "spiffe://varve/lab/main/retrieval"; wanted: spiffe://varve/lab/main/engine`,
		Of("tenant", "main", "engine"):    "tenant/main/engine",
		Of("lab", "main-engine", "other"): "wanted",
	} {
		p := party(t, ours, self, t.TempDir())
		url := serve(t, func(l net.Listener) net.Listener { return p.Listener(l, false, retrievalName) }, nil)
		if got := get(httpClient(t, d), url); !strings.Contains(got, want) {
			t.Errorf("server %s: %s", self, got)
		}
	}
	p := party(t, authority.New(t), engineName, t.TempDir())
	url := serve(t, func(l net.Listener) net.Listener { return p.Listener(l, false, retrievalName) }, nil)
	if got := get(httpClient(t, d), url); !strings.Contains(got, "unknown authority") {
		t.Errorf("server of another authority: %s", got)
	}
}

// TestARefusedClientLearnsIt looks at the error of a client that is not the wanted one.
func TestARefusedClientLearnsIt(t *testing.T) {
	ours := authority.New(t)
	engine := party(t, ours, engineName, t.TempDir())
	url := serve(t, func(l net.Listener) net.Listener { return engine.Listener(l, false, retrievalName) }, nil)
	other := &Dialer{Party: party(t, ours, Of("lab", "other", "retrieval"), t.TempDir()), Server: engineName}
	if got := get(httpClient(t, other), url); !strings.Contains(got, "the server refuses the certificate of spiffe://varve/lab/other/retrieval") {
		t.Error(got)
	}
}

// TestClocksMayDifferByFiveMinutes moves the clock of the engine around the validity of a certificate.
func TestClocksMayDifferByFiveMinutes(t *testing.T) {
	ours := authority.New(t) // valid for an hour around now
	from, to := time.Now().Add(-10*time.Minute), time.Now().Add(10*time.Minute)
	cert, key := ours.IssueBetween(t, from, to, string(retrievalName))
	dir := t.TempDir()
	writeFiles(t, dir, cert, key, ours)
	d := &Dialer{Party: party(t, nil, retrievalName, dir), Server: engineName}
	for clock, accepted := range map[time.Time]bool{
		from.Add(-6 * time.Minute): false, from.Add(-4 * time.Minute): true,
		to.Add(4 * time.Minute): true, to.Add(6 * time.Minute): false,
	} {
		engine := party(t, ours, engineName, t.TempDir())
		engine.cfg.Now = func() time.Time { return clock }
		url := serve(t, func(l net.Listener) net.Listener { return engine.Listener(l, false, retrievalName) }, nil)
		if got := get(httpClient(t, d), url); (got == "hello") != accepted {
			t.Errorf("certificate from %s to %s, clock %s: %s", stamp(from), stamp(to), stamp(clock), got)
		}
	}
}

// TestUpgradesNeverDisconnect connects all versions of clients with all versions of servers that an upgrade
// can bring together, and those that it must not.
func TestUpgradesNeverDisconnect(t *testing.T) {
	ours := authority.New(t)
	engine := party(t, ours, engineName, t.TempDir())
	bare := New(Config{Files: Files(t.TempDir()), Self: engineName, Log: slog.New(slog.DiscardHandler)}) // its Secret does not exist yet
	servers := map[string]func(net.Listener) net.Listener{
		"off":           func(l net.Listener) net.Listener { return l },
		"optional":      func(l net.Listener) net.Listener { return engine.Listener(l, true, retrievalName) },
		"optional bare": func(l net.Listener) net.Listener { return bare.Listener(l, true, retrievalName) },
		"required":      func(l net.Listener) net.Listener { return engine.Listener(l, false, retrievalName) },
		"required bare": func(l net.Listener) net.Listener { return bare.Listener(l, false, retrievalName) },
	}
	retrieval := party(t, ours, retrievalName, t.TempDir())
	bareClient := New(Config{Files: Files(t.TempDir()), Self: retrievalName, Log: slog.New(slog.DiscardHandler)})
	clients := map[string]*Dialer{
		"off":           nil,
		"optional":      {Party: retrieval, Server: engineName, Optional: true},
		"optional bare": {Party: bareClient, Server: engineName, Optional: true},
		"required":      {Party: retrieval, Server: engineName},
		"required bare": {Party: bareClient, Server: engineName},
	}
	// The others get no answer.
	connects := map[string]string{
		"off":           "off, optional, optional bare",
		"optional":      "off, optional, optional bare, required",
		"optional bare": "off, optional, optional bare",
		"required":      "optional, required",
		"required bare": "",
	}
	for s, wrap := range servers {
		url := serve(t, wrap, nil)
		for c, d := range clients {
			want := false
			for _, name := range strings.Split(connects[c], ", ") {
				want = want || name == s
			}
			if got := get(httpClient(t, d), url); (got == "hello") != want {
				t.Errorf("client %s, server %s: %s", c, s, got)
			}
		}
	}
	if n := failures(t, engine, reasonPlain); n < 3 {
		t.Errorf("%v connections without TLS are counted", n)
	}
}

// TestConnectionsSurviveRotation rotates certificates and authorities while a connection is in use.
func TestConnectionsSurviveRotation(t *testing.T) {
	first, second := authority.New(t), authority.New(t)
	engineDir, retrievalDir := t.TempDir(), t.TempDir()
	engine, retrieval := party(t, first, engineName, engineDir), party(t, first, retrievalName, retrievalDir)
	lines := make(chan string)
	url := serve(t, func(l net.Listener) net.Listener { return engine.Listener(l, false, retrievalName) },
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/stream" {
				hello(w, r)
				return
			}
			for {
				select {
				case line := <-lines:
					_, _ = io.WriteString(w, line)
					w.(http.Flusher).Flush()
				case <-r.Context().Done():
					return
				}
			}
		}))
	d := &Dialer{Party: retrieval, Server: engineName}
	streaming := make(chan *http.Response)
	go func() {
		res, err := httpClient(t, d).Get(url + "/stream")
		if err != nil {
			t.Error(err)
		}
		streaming <- res
	}()
	lines <- "0"
	live := <-streaming
	defer live.Body.Close()
	used := httpClient(t, d) // keeps a connection of the first authority
	step := func(when string) {
		t.Helper()
		lines <- "x"
		if _, err := io.ReadFull(live.Body, make([]byte, 1)); err != nil {
			t.Fatalf("%s: the live connection ends: %v", when, err)
		}
		for name, c := range map[string]*http.Client{"old": used, "new": httpClient(t, d)} {
			if got := get(c, url); got != "hello" {
				t.Fatalf("%s: the %s connection: %s", when, name, got)
			}
		}
	}
	issue := func(dir string, self Name, by *authority.Authority, trusted ...*authority.Authority) {
		cert, key := by.Issue(t, string(self))
		writeFiles(t, dir, cert, key, trusted...)
	}
	step("before")
	issue(engineDir, engineName, first, first)
	step("after a new certificate of the engine")
	issue(retrievalDir, retrievalName, first, first)
	step("after a new certificate of the retrieval pod")
	issue(engineDir, engineName, first, first, second)
	step("while only the engine trusts the new authority")
	issue(retrievalDir, retrievalName, first, second, first)
	step("while both trust both authorities")
	issue(engineDir, engineName, second, first, second)
	step("while the engine has a certificate of the new authority")
	issue(retrievalDir, retrievalName, second, first, second)
	step("while both have one")
	issue(engineDir, engineName, second, second)
	issue(retrievalDir, retrievalName, second, second)
	step("without the old authority")

	thief := party(t, first, retrievalName, t.TempDir())
	if got := get(httpClient(t, &Dialer{Party: thief, Server: engineName}), url); got == "hello" {
		t.Error("a certificate of the removed authority is accepted")
	}
}

// TestAConnectionDoesNotOutliveItsCertificate lets the certificate of a connected client end.
func TestAConnectionDoesNotOutliveItsCertificate(t *testing.T) {
	ours := authority.New(t)
	engine := party(t, ours, engineName, t.TempDir())
	var now time.Time
	engine.cfg.Now = func() time.Time { return now }
	now = time.Now()
	url := serve(t, func(l net.Listener) net.Listener { return engine.Listener(l, false, retrievalName) }, engine.Renew(hello))
	c := httpClient(t, &Dialer{Party: party(t, ours, retrievalName, t.TempDir()), Server: engineName})
	for range 2 {
		if got := get(c, url); got != "hello" {
			t.Fatal(got)
		}
	}
	now = now.Add(2 * time.Hour)
	if got := get(c, url); got != "hello" {
		t.Fatalf("a request on a connection whose certificate has just ended: %s", got)
	}
	if got := get(c, url); got == "hello" {
		t.Error("the connection is used on after its certificate has ended")
	}
}

// TestUnusableFiles breaks one file at a time.
func TestUnusableFiles(t *testing.T) {
	ours := authority.New(t)
	many := make([]*authority.Authority, maxAuthorities+1)
	for i := range many {
		many[i] = authority.New(t)
	}
	cert, key := ours.Issue(t, string(engineName))
	otherCert, otherKey := ours.Issue(t, string(retrievalName))
	leaf, _ := ours.Issue(t, "x")
	write := func(dir, name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		breakIt func(dir string)
		want    string
	}{
		"no certificate":        {func(dir string) { _ = os.Remove(filepath.Join(dir, certificateFile)) }, "tls.crt: no such file"},
		"no key":                {func(dir string) { _ = os.Remove(filepath.Join(dir, keyFile)) }, "tls.key: no such file"},
		"no authority":          {func(dir string) { _ = os.Remove(filepath.Join(dir, authorityFile)) }, "ca.crt: no such file"},
		"an empty authority":    {func(dir string) { write(dir, authorityFile, nil) }, "contains no certificate"},
		"a truncated authority": {func(dir string) { write(dir, authorityFile, ours.PEM()[:100]) }, "contains no certificate"},
		"a key as authority":    {func(dir string) { write(dir, authorityFile, key) }, `is a "PRIVATE KEY"`},
		"a leaf as authority":   {func(dir string) { write(dir, authorityFile, leaf) }, "is not the certificate of an authority"},
		"the key of another":    {func(dir string) { write(dir, keyFile, otherKey) }, "private key does not match"},
		"another process": {func(dir string) { writeFiles(t, dir, otherCert, otherKey, ours) },
			`the certificate is for "spiffe://varve/lab/main/retrieval", but this process is "spiffe://varve/lab/main/engine"`},
		"too many authorities": {func(dir string) { writeFiles(t, dir, cert, key, many...) }, "more than 16 authorities"},
		"a large file":         {func(dir string) { write(dir, authorityFile, make([]byte, maxFile+1)) }, "more than 1048576 bytes"},
		"broken further authorities": {func(dir string) { write(dir, AuthoritiesFile, []byte("x")) },
			"authorities.crt: the file contains no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFiles(t, dir, cert, key, ours)
			p := party(t, nil, engineName, dir)
			if end := p.end(); end < float64(time.Now().Unix()) {
				t.Errorf("the certificate ends at %v", end)
			}
			before, err := p.load()
			if err != nil {
				t.Fatal(err)
			}
			c.breakIt(dir)
			if after, err := p.load(); err != nil || after.authorities == nil || !bytes.Equal(after.own.Certificate[0], before.own.Certificate[0]) {
				t.Errorf("the last valid files are not used: %v", err)
			}
			fresh := party(t, nil, engineName, dir)
			if _, err := fresh.load(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if end := fresh.end(); end != 0 {
				t.Errorf("the certificate ends at %v", end)
			}
		})
	}
}

// TestFurtherAuthorities trusts an authority of the second file.
func TestFurtherAuthorities(t *testing.T) {
	ours, second := authority.New(t), authority.New(t)
	dir := t.TempDir()
	engine := party(t, ours, engineName, dir)
	if err := os.WriteFile(filepath.Join(dir, AuthoritiesFile), append(second.PEM(), ours.PEM()...), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := engine.load()
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*authority.Authority{"the first": ours, "the second": second} {
		c := a.Certificate(t, string(retrievalName))
		if r := verify([]*x509.Certificate{c.Leaf}, m.authorities, x509.ExtKeyUsageClientAuth, []Name{retrievalName}, time.Now()); r != nil {
			t.Errorf("%s: %v", name, r)
		}
	}
}
