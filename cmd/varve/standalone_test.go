package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"varve.dev/varve/engine/spool"
)

// TestURLReachesTheListener checks that the URL in the hints of the demo is one that a client can use,
// also if the server listens at all addresses.
func TestURLReachesTheListener(t *testing.T) {
	for listen, want := range map[string]string{
		"0.0.0.0:80": "http://127.0.0.1:80", "[::]:80": "http://127.0.0.1:80",
		"10.0.0.1:80": "http://10.0.0.1:80", "[::1]:80": "http://[::1]:80",
	} {
		addr, err := net.ResolveTCPAddr("tcp", listen)
		if err != nil {
			t.Fatal(err)
		}
		if got := urlOf(addr); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
}

// TestStandaloneShowsProblems checks that a broken edit of a manifest, and an empty list of addresses, show in the
// status, in the details of /readyz and in the metrics, until they are mended.
func TestStandaloneShowsProblems(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	groups := writeFile(t, dir, "groups.yaml", providersGroup)
	s, err := openStandalone(t.Context(), &standaloneOptions{
		pipelineOptions: pipelineOptions{storage: storageOptions{dir: dir + "/data"}, memory: 64 << 20, spoolSize: spool.MinSize, flush: 50 * time.Millisecond, checkpoint: time.Minute},
		file:            groups, listen: "127.0.0.1:0", log: slog.New(slog.DiscardHandler),
	})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	defer func() {
		stop()
		g.Expect(<-ended).To(Succeed())
	}()
	shows := func(path string, what types.GomegaMatcher) {
		t.Helper()
		g.Eventually(func() string {
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, http.NoBody))
			return w.Body.String()
		}).WithTimeout(2*time.Minute).Should(what, path)
	}
	for _, path := range []string{"/readyz", "/api/v1/status"} {
		shows(path, ContainSubstring("there are no addresses to search: set EPICS_CA_ADDR_LIST"))
		shows(path, Not(ContainSubstring("a manifest is invalid")))
	}
	writeFile(t, dir, "groups.yaml", "kind: [")
	for _, path := range []string{"/readyz", "/api/v1/status"} {
		shows(path, And(ContainSubstring("a manifest is invalid; its last valid content stays in effect: "), ContainSubstring("groups.yaml")))
	}
	shows("/metrics", ContainSubstring("\nvarve_manifest_problems{severity=\"error\"} 1\n"))
	writeFile(t, dir, "groups.yaml", providersGroup)
	shows("/readyz", Not(ContainSubstring("a manifest is invalid")))
}
