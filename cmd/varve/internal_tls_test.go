package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/cluster/identity"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/engine/peer"
	"varve.dev/varve/test/authority"
)

// tlsFiles returns a directory with a certificate for a name.
func tlsFiles(t *testing.T, by *authority.Authority, self identity.Name) string {
	t.Helper()
	dir := t.TempDir()
	rotateTLS(t, dir, by, self, by)
	return dir
}

// rotateTLS replaces the certificate and the authorities in a directory.
func rotateTLS(t *testing.T, dir string, by *authority.Authority, self identity.Name, trusted ...*authority.Authority) {
	t.Helper()
	cert, key := by.Issue(t, string(self))
	var all []byte
	for _, a := range trusted {
		all = append(all, a.PEM()...)
	}
	for name, text := range map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": all} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// runEngine runs an engine until the test ends, and returns the URLs for readers and for /internal.
func runEngine(t *testing.T, o *engineOptions) (readers, internal string) {
	t.Helper()
	p, err := openEngine(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + p.listener.Addr().String(), "http://" + p.sides[len(p.sides)-1].listener.Addr().String()
}

// as returns a client with the certificate in a directory. It is nil without one.
func as(t *testing.T, d *identity.Dialer) *http.Client {
	transport := &http.Transport{}
	if d != nil {
		transport.DialContext = d.DialContext
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// answer returns the status of an answer, or why there is none.
func answer(c *http.Client, url string) string {
	res, err := c.Get(url)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.Status
}

// TestOnlyTheArchiveReadsInternal runs an engine, and reads /internal as other processes.
func TestOnlyTheArchiveReadsInternal(t *testing.T) {
	ours := authority.New(t)
	o := embedded(t)
	engine := o.component("engine")
	o.tls = internalTLS{dir: tlsFiles(t, ours, engine), operator: "varve-system"}
	readers, internal := runEngine(t, o)
	dialer := func(by *authority.Authority, self identity.Name) *identity.Dialer {
		return &identity.Dialer{Server: engine, Party: identity.New(identity.Config{
			Files: identity.Files(tlsFiles(t, by, self)), Self: self, Log: slog.New(slog.DiscardHandler),
		})}
	}
	retrieval := (&retrievalOptions{
		clusterOptions: o.clusterOptions, tls: internalTLS{dir: tlsFiles(t, ours, o.component("retrieval"))}, log: o.log,
	}).dialer(prometheus.NewRegistry())
	for _, c := range []struct {
		name string
		d    *identity.Dialer
		want bool
	}{
		{"a retrieval pod", retrieval, true},
		{"the operator", dialer(ours, identity.Operator("varve-system")), true},
		{"an operator of another namespace", dialer(ours, identity.Operator("tenant")), false},
		{"an engine", dialer(ours, engine), false},
		{"a retrieval pod of another archive", dialer(ours, identity.Of("lab", "other", "retrieval")), false},
		{"a retrieval pod with a foreign certificate", dialer(authority.New(t), o.component("retrieval")), false},
		{"a pod without a certificate", nil, false},
	} {
		for _, path := range []string{report.Path, peer.ChannelsPath} {
			if got := answer(as(t, c.d), internal+path); (got == "200 OK") != c.want {
				t.Errorf("%s reads %s: %s", c.name, path, got)
			}
		}
	}
	if got := answer(as(t, nil), readers+"/healthz"); got != "200 OK" {
		t.Errorf("readers need no certificate: %s", got)
	}
}

// TestInternalTLSRotatesWhileAnEngineRuns replaces the authority of a running engine and of its client.
func TestInternalTLSRotatesWhileAnEngineRuns(t *testing.T) {
	first, second := authority.New(t), authority.New(t)
	o := embedded(t)
	engine, self := o.component("engine"), o.component("retrieval")
	o.tls.dir = tlsFiles(t, first, engine)
	dir := tlsFiles(t, first, self)
	_, internal := runEngine(t, o)
	d := (&retrievalOptions{clusterOptions: o.clusterOptions, tls: internalTLS{dir: dir}, log: o.log}).dialer(prometheus.NewRegistry())
	kept := as(t, d)
	for _, step := range []struct {
		name   string
		rotate func()
	}{
		{"before", func() {}},
		{"both authorities", func() {
			rotateTLS(t, o.tls.dir, first, engine, first, second)
			rotateTLS(t, dir, first, self, first, second)
		}},
		{"the engine first", func() { rotateTLS(t, o.tls.dir, second, engine, first, second) }},
		{"then the client", func() { rotateTLS(t, dir, second, self, first, second) }},
		{"without the first", func() {
			rotateTLS(t, o.tls.dir, second, engine, second)
			rotateTLS(t, dir, second, self, second)
		}},
		{"files that cannot be read", func() { _ = os.Truncate(filepath.Join(o.tls.dir, "tls.crt"), 10) }},
	} {
		step.rotate()
		for name, c := range map[string]*http.Client{"old": kept, "new": as(t, d)} {
			if got := answer(c, internal+report.Path); got != "200 OK" {
				t.Errorf("%s: on the %s connection: %s", step.name, name, got)
			}
		}
	}
}

// TestMistakesInInternalTLS names the flag that is wrong.
func TestMistakesInInternalTLS(t *testing.T) {
	for name, c := range map[string]struct {
		breakIt func(*engineOptions)
		want    string
	}{
		"no port for metrics":          {func(o *engineOptions) { o.metrics = "" }, "--internal-tls-dir: it needs --metrics-listen"},
		"no port for /internal":        {func(o *engineOptions) { o.internal, o.access.file = "", "" }, "--internal-tls-dir: it needs --internal-listen"},
		"optional without certificate": {func(o *engineOptions) { o.tls = internalTLS{optional: true} }, "--internal-tls-optional: it needs --internal-tls-dir"},
		"operator without certificate": {func(o *engineOptions) { o.tls = internalTLS{operator: "x"} }, "--operator-namespace: it needs --internal-tls-dir"},
		"a namespace that is none":     {func(o *engineOptions) { o.tls.operator = "a/b" }, `--operator-namespace: "a/b" is not a valid name`},
	} {
		t.Run(name, func(t *testing.T) {
			o := embedded(t)
			o.tls.dir = t.TempDir()
			c.breakIt(o)
			if err := o.check(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
