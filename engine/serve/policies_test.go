package serve

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"varve.dev/varve/engine/policy"
	"varve.dev/varve/engine/store"
)

// tenants own the PVs SECRET* and, if somebody may read them, PUBLIC*.
func tenants(readers policy.Audience) *policy.Set {
	return policy.New([]policy.Policy{
		{Name: "vacuum", Prefixes: []string{"SECRET"}, Owners: policy.Owners{ArchiveGroups: []string{"secret"}, Groups: []string{"vacuum"}}},
		{Name: "public", Prefixes: []string{"PUBLIC:"}, Readers: readers},
	})
}

// newTenants returns an archive with an access file and the policies of tenants, which a test may replace.
func newTenants(t *testing.T, file string) (*guarded, *atomic.Pointer[policy.Set]) {
	t.Helper()
	g := newGuarded(t, file)
	current := &atomic.Pointer[policy.Set]{}
	current.Store(tenants(policy.Audience{Everybody: true}))
	g.cfg.Policies = func() (*policy.Set, bool) { s := current.Load(); return s, s != nil }
	g.serve()
	return g, current
}

// TestPVsHiddenByPoliciesLookUnknown walks over all routes of the server.
func TestPVsHiddenByPoliciesLookUnknown(t *testing.T) {
	g, _ := newTenants(t, allMethods)
	if n := g.compareHidden("SECRET:A", "NOSUCH:A"); n < 60 {
		t.Errorf("only %d answers differ for a reader who may read the PV: the test compares too little", n)
	}
	if n := g.compareHidden("SECRET:B", "NOSUCH:B"); n < 10 { // only in the memory of an engine
		t.Errorf("only %d answers differ for a reader who may read the PV that is not in the store", n)
	}
}

// TestATenantLearnsNothingOfAnother makes one attempt of each kind. The owner gets what the tenant does not.
func TestATenantLearnsNothingOfAnother(t *testing.T) {
	g, _ := newTenants(t, allMethods)
	for attempt, ask := range map[string]string{
		"read samples":                       "/api/v1/samples?pv=%s" + newYearsEve,
		"read as the Archiver Appliance":     "/retrieval/data/getData.json?pv=%s" + newYearsEve,
		"read by a condition":                "/api/v1/samples?pv=PUBLIC:X&where=%s%%3E1" + newYearsEve,
		"read another spelling":              "/api/v1/samples?pv=ca://%s.VAL" + newYearsEve,
		"read a field":                       "/api/v1/samples?pv=%s.DESC" + newYearsEve,
		"read the last value":                "/api/v1/snapshot?pv=%s",
		"read a file":                        "/api/v1/files/%s/2026-01-01.parquet",
		"read as Prometheus":                 "/prometheus/api/v1/query?query=%s&time=1767225605",
		"read what is stored":                "/api/v1/storage?pv=%s",
		"ask why there is no data":           "/api/v1/why/%s",
		"search by name":                     "/api/v1/names?pv=%s",
		"search by glob":                     "/api/v1/names?pv=*",
		"search similar names":               "/api/v1/names?near=%sB",
		"search by regex":                    "/retrieval/bpl/getMatchingPVs?regex=.*",
		"search by regex in JSON":            "/archive-access/api/1.0/archive/1/channels-by-regexp/.*",
		"list the metrics of Prometheus":     "/prometheus/api/v1/label/__name__/values",
		"ask for a status":                   "/mgmt/bpl/getPVStatus?pv=%s",
		"ask for the status of all":          "/mgmt/bpl/getPVStatus?pv=*",
		"ask for channels":                   "/api/v1/channels",
		"ask for the channels of a group":    "/api/v1/channels?group=ns/secret",
		"ask whether a PV is archived":       "/retrieval/bpl/areWeArchivingPV?pv=%s",
		"read a report of losses":            "/api/v1/losses?group=ns/secret",
		"read a report of paused PVs":        "/mgmt/bpl/getPausedPVsReport",
		"read a report of rates":             "/mgmt/bpl/getEventRateReport",
		"read the text of an error":          "/api/v1/channels/%s",
		"read the text of another error":     "/api/v1/gaps?pv=%s" + newYearsEve,
		"count the PVs of the archive":       "/api/v1/status",
		"read the groups of the archive":     "/api/v1/groups/ns/secret",
		"follow live values":                 "/api/v1/live?pv=%s",
		"compare the behaviour of all PVs":   "/api/v1/changes?pv=*" + newYearsEve,
		"read marks, such as disconnections": "/api/v1/marks?pv=%s" + newYearsEve,
	} {
		t.Run(attempt, func(t *testing.T) {
			res, text := g.ask(ask, "SECRET:A", g.bob)
			other, want := g.ask(ask, "NOSUCH:A", g.bob)
			if same := strings.ReplaceAll(text, "SECRET:A", "NOSUCH:A"); same != want || res.StatusCode != other.StatusCode {
				t.Errorf("the tenant gets %d %s, and %d %s for a PV that does not exist", res.StatusCode, text, other.StatusCode, want)
			}
			if strings.Contains(want, "SECRET") {
				t.Errorf("the tenant learns a name: %s", want)
			}
			owner, all := g.ask(ask, "SECRET:A", g.ann)
			if owner.StatusCode == res.StatusCode && all == text {
				t.Errorf("the owner gets the same: %d %s", owner.StatusCode, all)
			}
		})
	}
}

// TestPoliciesChangeWithoutARestart gives a reader a right, and takes it away again.
func TestPoliciesChangeWithoutARestart(t *testing.T) {
	g, current := newTenants(t, allMethods)
	const path = "/api/v1/files/%s/2026-01-01.parquet" // whose files are in a cache
	for i, want := range []int{http.StatusNotFound, http.StatusOK, http.StatusNotFound} {
		set := tenants(policy.Audience{})
		if want == http.StatusOK {
			set = policy.New([]policy.Policy{{Prefixes: []string{"SECRET"}, Readers: policy.Audience{Groups: []string{"staff"}}}})
		}
		current.Store(set)
		if res, text := g.ask(path, "SECRET:A", g.bob); res.StatusCode != want {
			t.Errorf("after change %d: %d %.100s, want %d", i, res.StatusCode, text, want)
		}
	}
}

// TestNobodyReadsBeforePoliciesAreKnown asks every route while the API server has not listed the policies.
func TestNobodyReadsBeforePoliciesAreKnown(t *testing.T) {
	g, current := newTenants(t, allMethods)
	current.Store(nil)
	for _, r := range guardedRoutes() {
		if r.pattern == "GET /metrics" { // which names no PVs
			continue
		}
		if res, text := g.ask(r.ask[0], "SECRET:A", g.ann); res.StatusCode != http.StatusServiceUnavailable || strings.Contains(text, "SECRET") || !strings.Contains(text, "ArchivePolicies") {
			t.Errorf("%s answers %d %s", r.pattern, res.StatusCode, text)
		}
	}
	for _, r := range openRoutes {
		if res, text := g.ask(r.ask[0], "SECRET:A", g.ann); res.StatusCode == http.StatusServiceUnavailable || strings.Contains(text, "SECRET") {
			t.Errorf("%s answers %d %s", r.pattern, res.StatusCode, text)
		}
	}
}

// TestEverybodySeesNotices checks that those who may not read every PV see notices, but no warnings.
func TestEverybodySeesNotices(t *testing.T) {
	g, _ := newTenants(t, allMethods)
	g.cfg.Notices = func() []string { return []string{"the policies are old"} }
	g.cfg.Warnings = func() []string { return []string{"SECRET:A is wrong"} }
	g.serve()
	for _, path := range []string{"/readyz", "/api/v1/status"} {
		if res, text := g.ask(path, "", g.bob); res.StatusCode != http.StatusOK || !strings.Contains(text, "the policies are old") || strings.Contains(text, "SECRET") {
			t.Errorf("%s answers %d %s", path, res.StatusCode, text)
		}
	}
}

// TestPoliciesHoldWithoutAnAccessFile checks that every client is anonymous, by any name of the host.
func TestPoliciesHoldWithoutAnAccessFile(t *testing.T) {
	g, current := newTenants(t, allMethods)
	g.cfg.Access = nil
	g.serve()
	if n := g.compareHidden("SECRET:A", "NOSUCH:A"); n != 0 {
		t.Errorf("%d answers to anonymous clients differ", n)
	}
	for pv, want := range map[string]int{"PUBLIC:X": http.StatusOK, "SECRET:A": http.StatusNotFound} {
		res, text, err := g.do(http.MethodGet, "/api/v1/channels/"+pv, "", "Origin", "https://other.example.org")
		if g.check(err); res.StatusCode != want || res.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s answers %d %s with the header %v, want %d", pv, res.StatusCode, text, res.Header, want)
		}
	}
	if res, text := g.ask("/api/v1/archive", "", ""); res.StatusCode != http.StatusForbidden {
		t.Errorf("the state of the archive answers %d %s to those who may not read every PV", res.StatusCode, text)
	}
	current.Store(policy.New(nil))
	if res, text := g.ask("/api/v1/channels/SECRET:A", "", ""); res.StatusCode != http.StatusOK {
		t.Errorf("without policies, the PV answers %d %s", res.StatusCode, text)
	}
}

// TestRulesAndPoliciesMustBothAdmit checks that neither can widen the other.
func TestRulesAndPoliciesMustBothAdmit(t *testing.T) {
	g, current := newTenants(t, allMethods+secretRule) // for the group vacuum
	current.Store(policy.New([]policy.Policy{{Prefixes: []string{"SECRET"}, Readers: policy.Audience{Groups: []string{"staff"}}}}))
	for name, token := range map[string]string{"ann": g.ann, "bob": g.bob} {
		if res, text := g.ask("/api/v1/channels/SECRET:A", "", token); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: the PV answers %d %s", name, res.StatusCode, text)
		}
	}
	current.Store(tenants(policy.Audience{Everybody: true}))
	if res, text := g.ask("/api/v1/channels/SECRET:A", "", g.ann); res.StatusCode != http.StatusOK {
		t.Errorf("the PV answers %d %s to a reader whom both admit", res.StatusCode, text)
	}
}

// countedStore counts the calls of the methods that read a PV.
type countedStore struct {
	store.Store
	mu    sync.Mutex
	calls map[string]int
}

func (s *countedStore) count(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[method]++
}

// reset returns the counts, and begins again.
func (s *countedStore) reset() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = map[string]int{}
	return calls
}

func (s *countedStore) Channel(ctx context.Context, pv string) (store.Channel, bool, error) {
	s.count("Channel")
	return s.Store.Channel(ctx, pv)
}

func (s *countedStore) Channels(ctx context.Context) iter.Seq2[store.Channel, error] {
	s.count("Channels")
	return s.Store.Channels(ctx)
}

func (s *countedStore) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	s.count("Blocks")
	return s.Store.Blocks(ctx, pv, b, from, to)
}

func (s *countedStore) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (store.Block, bool, error) {
	s.count("LastBlock")
	return s.Store.LastBlock(ctx, pv, b, at)
}

func (s *countedStore) Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error] {
	s.count("Marks")
	return s.Store.Marks(ctx, pv, from, to)
}

func (s *countedStore) LatestMarks(ctx context.Context, pv string, at int64) iter.Seq2[store.PVMark, error] {
	s.count("LatestMarks")
	return s.Store.LatestMarks(ctx, pv, at)
}

func (s *countedStore) MetadataAt(ctx context.Context, pv string, at int64) (store.PVMetadata, bool, error) {
	s.count("MetadataAt")
	return s.Store.MetadataAt(ctx, pv, at)
}

// TestAHiddenPVTakesTheStepsOfAnUnknownOne checks what a tenant could learn from the time that an answer takes: the
// store is asked the same questions. The owner's read of a PV asks other ones.
func TestAHiddenPVTakesTheStepsOfAnUnknownOne(t *testing.T) {
	g, _ := newTenants(t, allMethods)
	counted := &countedStore{Store: g.cfg.Reader.Store, calls: map[string]int{}}
	g.cfg.Reader.Store = counted
	g.serve()
	differ := 0
	for _, r := range nativeRoutes {
		if !strings.Contains(r.ask[0], "%s") || r.pattern == "GET /api/v1/live" { // which goes on reading for the owner
			continue
		}
		asked := func(pv, token string) map[string]int {
			g.ask(r.ask[0], pv, token) // fills caches of what all readers share
			counted.reset()
			g.ask(r.ask[0], pv, token)
			return counted.reset()
		}
		hidden, unknown, owner := asked("SECRET:A", g.bob), asked("NOSUCH:A", g.bob), asked("SECRET:A", g.ann)
		if !maps.Equal(hidden, unknown) {
			t.Errorf("%s: a hidden PV costs %v, and an unknown one %v", r.pattern, hidden, unknown)
		}
		if !maps.Equal(hidden, owner) {
			differ++
		}
	}
	if differ < 5 {
		t.Errorf("only %d routes ask other questions for the owner: the test counts too little", differ)
	}
}
