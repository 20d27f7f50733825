package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/ca"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/spool"
)

// noCluster is a kubeconfig of an API server that does not answer.
const noCluster = `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`

// embedded returns the options of an engine that serves readers, with an access file that requires a
// token.
func embedded(t *testing.T) *engineOptions {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"kubeconfig": noCluster, "tokens": "", "access.yaml": "access: [{tokens: {file: tokens}}]",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &engineOptions{
		clusterOptions: clusterOptions{kubeconfig: filepath.Join(dir, "kubeconfig"), namespace: "lab", archiver: "try", shards: 1},
		pipelineOptions: pipelineOptions{
			memory: 64 << 20, spoolSize: spool.MinSize, flush: time.Second, checkpoint: time.Minute,
			storage: storageOptions{dir: filepath.Join(dir, "data")}, ca: ca.Config{Config: clienttest.ByUDP("127.0.0.1:1")},
		},
		name: "try-engine-0", listen: "127.0.0.1:0", internal: "127.0.0.1:0", metrics: "127.0.0.1:0", retrieval: true,
		access: accessOptions{file: filepath.Join(dir, "access.yaml")}, log: slog.New(slog.DiscardHandler),
	}
}

// TestEachPortServesItsPaths checks that readers get neither metrics nor samples by another path than
// the read APIs, and that the operator and Prometheus need no token.
func TestEachPortServesItsPaths(t *testing.T) {
	p, err := openEngine(embedded(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.release(p.opts.log)
	ports := map[string]http.Handler{"public": p.handler, "metrics": p.sides[0].handler, "internal": p.sides[1].handler}
	for _, test := range []struct {
		path                      string
		public, metrics, internal int
	}{
		{"/api/v1/status", 401, 404, 404},
		{"/internal/report", 401, 404, 200},
		{"/metrics", 401, 200, 404},
		{"/healthz", 200, 200, 200},
	} {
		for port, want := range map[string]int{"public": test.public, "metrics": test.metrics, "internal": test.internal} {
			w := httptest.NewRecorder()
			ports[port].ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+test.path, http.NoBody))
			if w.Code != want {
				t.Errorf("%s on the port %s: %d, want %d: %s", test.path, port, w.Code, want, w.Body)
			}
		}
	}
}

// TestOnePortIsEnough checks that an engine without further addresses serves everything at --listen.
func TestOnePortIsEnough(t *testing.T) {
	o := embedded(t)
	o.internal, o.metrics, o.access.file = "", "", ""
	p, err := openEngine(o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.release(p.opts.log)
	for path, want := range map[string]int{
		"/api/v1/status":   http.StatusServiceUnavailable, // no API server has listed the ArchivePolicies
		"/internal/report": http.StatusOK, "/metrics": http.StatusOK, "/healthz": http.StatusOK, "/none": http.StatusServiceUnavailable,
	} {
		w := httptest.NewRecorder()
		p.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, http.NoBody))
		if w.Code != want {
			t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
	if len(p.sides) != 0 {
		t.Errorf("there are %d further ports", len(p.sides))
	}
}

// TestAnEmbeddedEngineRefusesReadsUntilItKnowsThePolicies checks an engine that has never reached the API server, and one
// that has saved policies. The first one must capture, so its readiness does not depend on policies: the operator gives
// shards only to engines that are ready.
func TestAnEmbeddedEngineRefusesReadsUntilItKnowsThePolicies(t *testing.T) {
	reads := []string{
		"/retrieval/data/getData.json?pv=VAC:P", "/retrieval/data/getData.raw?pv=VAC:P", "/mgmt/bpl/getAllPVs", "/api/v1/names", "/api/v1/status",
		"/api/v1/live?pv=VAC:P", "/api/v1/archive", "/archiver/channels/VAC:P",
	}
	for _, saved := range []bool{false, true} {
		o := embedded(t)
		o.access.file, o.state = "", t.TempDir()
		if saved {
			text := `{"archiver": "try", "policies": [{"metadata": {"name": "vac"}, "spec": {"archiverRef": {"name": "try"}, "prefixes": ["VAC:"], "owners": {"users": ["ann"]}}}]}`
			if err := os.WriteFile(filepath.Join(o.state, "policies"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, err := openEngine(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range reads {
			w := httptest.NewRecorder()
			if strings.Contains(path, "live") && saved {
				continue // it does not end by itself
			}
			p.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, http.NoBody))
			if refused := w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") != "" && strings.Contains(w.Body.String(), "ArchivePolicies"); refused == saved {
				t.Errorf("policies are known: %t: %s: %d %s", saved, path, w.Code, w.Body)
			}
		}
		p.release(p.opts.log)
	}
}

// TestAnEmbeddedEngineCapturesWithoutCredentialsForTheOlderArchive opens an engine without the Secret, and with wrong keys.
// Only reads of the older archive fail.
func TestAnEmbeddedEngineCapturesWithoutCredentialsForTheOlderArchive(t *testing.T) {
	for want, dir := range map[string]string{
		"neither the file token nor": filepath.Join(t.TempDir(), "missing"),
		"one line":                   secrets(t, map[string]string{"token": "a\nb"}),
	} {
		o := embedded(t)
		o.through = throughOptions{url: "http://older.invalid", names: 1, credentials: dir}
		p, err := openEngine(o)
		if err != nil {
			t.Errorf("credentials in %s: %v", dir, err)
			continue
		}
		reader := &query.Reader{}
		older, err := o.through.open(reader, prometheus.NewRegistry(), nil) // as the engine does
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reader.Through.Outside(t.Context(), "A:B"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a read of the older archive: %v; want %s", err, want)
		}
		older.close()
		p.older.close()
		p.release(p.opts.log)
	}
}

// TestAccessOfAnEngineIsChecked checks the errors of flags that do not go together.
func TestAccessOfAnEngineIsChecked(t *testing.T) {
	for want, change := range map[string]func(*engineOptions){
		"--access: it needs --retrieval":       func(o *engineOptions) { o.retrieval = false },
		"--access: it needs --internal-listen": func(o *engineOptions) { o.internal = "" },
		"--audit: it needs --access":           func(o *engineOptions) { o.access = accessOptions{audit: "stderr"} },
	} {
		o := embedded(t)
		change(o)
		if _, err := openEngine(o); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
