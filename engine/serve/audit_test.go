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
	"unsafe"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/serve/audit"
)

// asked is a path that somebody requests with a token.
type asked struct{ path, token string }

// audited sends requests, and returns the lines of the audit log, ordered by their decisions.
func (g *guarded) audited(requests ...asked) (got []audit.Entry) {
	g.t.Helper()
	var out bytes.Buffer
	g.cfg.Audit = audit.New(&out, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	h, err := New(g.cfg)
	g.check(err)
	srv := httptest.NewServer(h)
	g.url = srv.URL
	for _, r := range requests {
		g.ask(r.path, "", r.token)
	}
	srv.Close() // ends all requests, so that all lines are queued
	ctx, cancel := context.WithCancel(g.t.Context())
	cancel()
	g.cfg.Audit.Run(ctx)
	for line := range strings.Lines(out.String()) {
		var e audit.Entry
		g.check(json.Unmarshal([]byte(line), &e))
		got = append(got, e)
	}
	slices.SortStableFunc(got, func(a, b audit.Entry) int { return strings.Compare(a.Decision, b.Decision) })
	return got
}

// TestTheAuditLogNamesThePVsOfFiles checks the lines about Parquet files: when a file is built, when it comes
// from the cache, and when the PV is hidden.
func TestTheAuditLogNamesThePVsOfFiles(t *testing.T) {
	g := newGuarded(t, allMethods+secretRule)
	const path = "/api/v1/files/SECRET:A/2026-01-01.parquet"
	got := g.audited(asked{path, g.ann}, asked{path, g.ann}, asked{path, g.bob})
	if len(got) != 3 {
		t.Fatalf("the log has %d lines: %+v", len(got), got)
	}
	for i, want := range []audit.Entry{
		{User: "ann", Decision: audit.Allowed, Status: 200}, {User: "ann", Decision: audit.Allowed, Status: 200}, {User: "bob", Decision: audit.Hidden, Status: 404},
	} {
		if e := got[i]; e.User != want.User || e.Decision != want.Decision || e.Status != want.Status || !slices.Equal(e.PVs, []string{"SECRET:A"}) {
			t.Errorf("line %d is %+v, want %+v", i, e, want)
		}
	}
}

// TestTheAuditLogCopiesTexts checks that a line keeps only what it shows in memory, and not the request.
func TestTheAuditLogCopiesTexts(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	if part := cut(long); len(part) != maxNote || unsafe.StringData(part) == unsafe.StringData(long) {
		t.Error("a part of a text keeps the whole text in memory")
	}
}

// TestTheAuditLogHasEachRequest checks the lines of reads, of a hidden PV and of refusals. Paths that
// need no identity are not in the log.
func TestTheAuditLogHasEachRequest(t *testing.T) {
	g := newGuarded(t, allMethods+secretRule)
	got := g.audited(
		asked{"/api/v1/samples?pv=SECRET:A&from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z", g.ann},
		asked{"/api/v1/samples?pv=SECRET:A&from=2026-01-01T00:00:00Z", g.bob},
		asked{"/api/v1/names", g.bob},
		asked{"/api/v1/names", g.old},
		asked{"/api/v1/none?" + strings.Repeat("a", 1000), ""},
		asked{"/healthz", ""}, asked{"/", ""},
	)
	if len(got) != 5 {
		t.Fatalf("the log has %d lines: %+v", len(got), got)
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
