package serve

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/through"
)

// TestHiddenAndUnknownPVsFailAlike asks every API for both while the older archive answers with errors that name the PV.
func TestHiddenAndUnknownPVsFailAlike(t *testing.T) {
	var mu sync.Mutex
	var requests []string
	older := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, r.URL.Path)
		if strings.Contains(r.URL.RawQuery, "SECRET%3AA&") || strings.HasSuffix(r.URL.RawQuery, "SECRET%3AA") {
			t.Errorf("the older archive is asked for the hidden PV: %s", r.URL)
		}
		http.Error(w, "10.1.2.3 cannot read "+r.URL.Query().Get("pv"), http.StatusInternalServerError)
	}))
	defer older.Close()
	base, err := url.Parse(older.URL + "/retrieval")
	if err != nil {
		t.Fatal(err)
	}
	g := newGuarded(t, allMethods+secretRule)
	a := through.New(through.Config{Address: through.Address{URL: base}, Registerer: prometheus.NewRegistry()})
	defer a.Close()
	g.cfg.Reader.Through, g.cfg.Warnings = a.Through(), a.Problems
	g.serve()
	ask := func(path, pv string) (status int, text string, sent []string) {
		mu.Lock()
		requests = nil
		mu.Unlock()
		res, text := g.ask(path, pv, g.bob)
		mu.Lock()
		defer mu.Unlock()
		return res.StatusCode, res.Header.Get("Retry-After") + strings.ReplaceAll(text, pv, "PV"), requests
	}
	for _, path := range []string{
		"/retrieval/data/getData.raw?pv=%s&from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z",
		"/retrieval/data/getData.json?pv=mean_10(%s)&from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z",
		"/retrieval/data/getDataAtTime?pv=%s&at=2026-01-01T00:00:10Z",
		"/api/v1/samples?pv=%s&from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z",
		"/api/v1/samples?pv=%s&format=csv&from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z",
		"/api/v1/bins?pv=%s&points=10&from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z",
		"/mgmt/bpl/getPVTypeInfo?pv=%s",
	} {
		code, want, steps := ask(path, "NOBODY:A")
		if code != http.StatusBadGateway || len(steps) == 0 {
			t.Errorf("%s of an unknown PV: %d %s, after %q", path, code, want, steps)
		}
		got, text, sent := ask(path, "SECRET:A")
		if got != code || text != want || len(sent) != len(steps) {
			t.Errorf("%s of a hidden PV: %d %s, after %q; want %d %s, after %q", path, got, text, sent, code, want, steps)
		}
		for _, secret := range []string{"10.1.2.3", older.Listener.Addr().String()} {
			if strings.Contains(text, secret) {
				t.Errorf("%s tells %s: %s", path, secret, text)
			}
		}
	}
	if _, text, _ := ask("/readyz", ""); strings.Contains(text, older.Listener.Addr().String()) {
		t.Errorf("/readyz tells a reader %s", text)
	}
}
