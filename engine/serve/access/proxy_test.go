package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"varve.dev/varve/test/authority"
)

// secured is a server with a certificate, which answers the identity of each request.
type secured struct {
	url, dir string
	ca       *authority.Authority
}

const namesGroups = "{certificate: proxy.example.org, groupsHeader: X-Forwarded-Groups}"

// newSecured returns a server that trusts a proxy, as its access file says.
func newSecured(t *testing.T, proxy string) *secured {
	t.Helper()
	s := &secured{dir: t.TempDir(), ca: authority.New(t)}
	s.issue(t, s.ca)
	path := filepath.Join(s.dir, "access.yaml")
	write(t, path, "tls: {certificate: tls.crt, key: tls.key, clientCA: ca.crt}\n"+
		"access:\n- trustedProxy: "+proxy+"\n- anonymous: {}\n")
	cfg, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(cfg, Options{Now: newClock().now})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var refusal *Refusal
		q, err := a.Identify(r)
		if errors.As(err, &refusal) {
			http.Error(w, "refused", refusal.Code)
			return
		}
		fmt.Fprint(w, q.User, q.Groups, q.Method)
		if forwarded := a.Forwarded(r); forwarded != q.Client() {
			t.Errorf("a request of %q has the share of %q", q.Client(), forwarded)
		}
	}))
	if srv.Listener, err = cfg.Listener(srv.Listener, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	srv.Start()
	t.Cleanup(srv.Close)
	s.url = "https://" + srv.Listener.Addr().String()
	return s
}

// issue writes a new certificate of the server.
func (s *secured) issue(t *testing.T, ca *authority.Authority) {
	t.Helper()
	cert, key := ca.Issue(t, "127.0.0.1")
	write(t, filepath.Join(s.dir, "tls.crt"), string(cert))
	write(t, filepath.Join(s.dir, "tls.key"), string(key))
	write(t, filepath.Join(s.dir, "ca.crt"), string(ca.PEM()))
}

// get sends a request on a new connection, and returns the body of the answer.
func (s *secured) get(t *testing.T, ca *authority.Authority, own *tls.Certificate, headers ...string) (string, error) {
	t.Helper()
	cfg := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	cfg.RootCAs.AppendCertsFromPEM(ca.PEM())
	if own != nil {
		cfg.Certificates = []tls.Certificate{*own}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: cfg, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// TestOnlyTheNamedProxyIsBelieved checks whose headers give an identity.
func TestOnlyTheNamedProxyIsBelieved(t *testing.T) {
	s := newSecured(t, namesGroups)
	proxy, other := s.ca.Certificate(t, "proxy.example.org"), s.ca.Certificate(t, "other.example.org")
	forged := authority.New(t).Certificate(t, "proxy.example.org")
	ann := []string{"X-Forwarded-User", "ann", "X-Forwarded-Groups", "vacuum, staff"}
	for _, c := range []struct {
		name    string
		own     *tls.Certificate
		headers []string
		want    string
	}{
		{"proxy", &proxy, ann, "ann[vacuum staff]trustedProxy"},
		{"proxy without a user", &proxy, nil, "refused\n"},
		{"proxy with two users", &proxy, append([]string{"X-Forwarded-User", "eve"}, ann...), "refused\n"},
		{"other certificate", &other, ann, "anonymous[]anonymous"},
		{"no certificate", nil, ann, "anonymous[]anonymous"},
	} {
		if got, err := s.get(t, s.ca, c.own, c.headers...); got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	if got, err := s.get(t, s.ca, &forged, ann...); err == nil && got != "anonymous[]anonymous" {
		t.Errorf("certificate of another authority: %q", got)
	}
}

// TestGroupsOfAProxyNeedTheirHeader checks that groups count only if the access file names their header: a
// proxy passes on the headers of its clients that it does not know.
func TestGroupsOfAProxyNeedTheirHeader(t *testing.T) {
	s := newSecured(t, "{certificate: proxy.example.org}")
	proxy := s.ca.Certificate(t, "proxy.example.org")
	if got, err := s.get(t, s.ca, &proxy, "X-Forwarded-User", "ann", "X-Forwarded-Groups", "vacuum"); got != "ann[]trustedProxy" {
		t.Errorf("the identity is %q, %v", got, err)
	}
}

// TestCertificatesAreReadAgain checks that a new certificate counts for new connections, and that the
// last valid one stays in use while the files are wrong.
func TestCertificatesAreReadAgain(t *testing.T) {
	s := newSecured(t, namesGroups)
	next := authority.New(t)
	s.issue(t, next)
	if _, err := s.get(t, next, nil); err != nil {
		t.Errorf("with the new authority: %v", err)
	}
	if _, err := s.get(t, s.ca, nil); err == nil {
		t.Error("the old certificate is in use")
	}
	write(t, filepath.Join(s.dir, "tls.key"), "no key")
	if _, err := s.get(t, next, nil); err != nil {
		t.Errorf("while the key is wrong: %v", err)
	}
	cfg := &Config{TLS: &TLS{Certificate: filepath.Join(s.dir, "tls.crt"), Key: filepath.Join(s.dir, "tls.key")}}
	var none net.Listener
	if _, err := cfg.Listener(none, nil); err == nil {
		t.Error("a server starts without a key")
	}
}
