package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/serve/audit"
)

// TestTheAuditLogHasEachRequest checks the lines of reads, of a hidden PV and of refusals. Paths that
// need no identity are not in the log.
func TestTheAuditLogHasEachRequest(t *testing.T) {
	g := newGuarded(t, allMethods+secretRule)
	var out bytes.Buffer
	g.cfg.Audit = audit.New(&out, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	h, err := New(g.cfg)
	g.check(err)
	srv := httptest.NewServer(h)
	g.url = srv.URL
	for _, r := range []struct{ path, token string }{
		{"/api/v1/samples?pv=SECRET:A&from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z", g.ann},
		{"/api/v1/samples?pv=SECRET:A&from=2026-01-01T00:00:00Z", g.bob},
		{"/api/v1/names", g.bob},
		{"/api/v1/names", g.old},
		{"/api/v1/none?" + strings.Repeat("a", 1000), ""},
		{"/healthz", ""}, {"/", ""},
	} {
		g.ask(r.path, "", r.token)
	}
	srv.Close() // ends all requests, so that all lines are queued
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g.cfg.Audit.Run(ctx)
	var got []audit.Entry
	for line := range strings.Lines(out.String()) {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	slices.SortStableFunc(got, func(a, b audit.Entry) int { return strings.Compare(a.Decision, b.Decision) })
	if len(got) != 5 {
		t.Fatalf("the log has %d lines: %s", len(got), out.String())
	}
	read := got[0]
	if read.User != "ann" || read.Method != "tokens" || read.Call != "GET /api/v1/samples" || !slices.Equal(read.PVs, []string{"SECRET:A"}) ||
		read.From != "2026-01-01T00:00:00Z" || read.To != "2026-01-01T00:01:00Z" || read.Status != http.StatusOK || read.Bytes == 0 {
		t.Errorf("the line of a read is %+v", read)
	}
	if names := got[1]; names.User != "bob" || len(names.PVs) != 0 || names.Decision != audit.Allowed {
		t.Errorf("the line of a search is %+v", names)
	}
	if hidden := got[2]; hidden.User != "bob" || hidden.Decision != audit.Hidden || hidden.Status != http.StatusNotFound {
		t.Errorf("the line of a hidden PV is %+v", hidden)
	}
	for _, refused := range got[3:] {
		if refused.Status != http.StatusUnauthorized || refused.Reason == "" || refused.User != "" || len(refused.Call) > maxNote {
			t.Errorf("the line of a refusal is %+v", refused)
		}
	}
}
