package serve

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/engine/store"
)

// whyOf is the answer of /api/v1/why.
type whyOf struct {
	OK                        bool
	Cause, Step, Text, Advice string
	Last                      string
	Steps                     []struct{ Step, State, Text string }
}

// step returns the state and the text of a step.
func (w *whyOf) step(name string) string {
	for _, s := range w.Steps {
		if s.Step == name {
			return s.State + ": " + s.Text
		}
	}
	return ""
}

// why asks why a PV has no samples.
func (r *rig) why(path string) (w whyOf) {
	r.t.Helper()
	code, text := r.get("/api/v1/why/" + path)
	if err := json.Unmarshal([]byte(text), &w); err != nil || code != 200 {
		r.t.Fatalf("%s: %d %s: %v", path, code, text, err)
	}
	return w
}

// failingStore is a store that does not answer.
type failingStore struct{ store.Store }

var errNoNode = errors.New("no node answers")

func (failingStore) Channel(context.Context, string) (store.Channel, bool, error) {
	return store.Channel{}, false, errNoNode
}

// newWhyRig returns an archive with an engine and groups. The engine cannot store samples for the reason that *storage has.
func newWhyRig(t *testing.T, st store.Store, storage *string) *rig {
	r := &rig{t: t, store: st}
	reg := prometheus.NewRegistry()
	h, err := New(&Config{
		Reader: &query.Reader{Store: st, Shards: 4, Now: func() int64 { return newYear }}, Channels: &r.channels, Gatherer: reg, Metrics: NewMetrics(reg),
		Ready: func() error { return nil }, Now: func() time.Time { return time.Unix(0, newYear) }, Log: slog.New(slog.DiscardHandler),
		Overview: overview.Sources{
			Engines: func(context.Context) overview.Fleet {
				return overview.Fleet{Shards: 4, Engines: []overview.Engine{{Engine: "this process", Figures: &overview.Figures{Storage: *storage}}}}
			},
			Groups: func() ([]overview.Group, string) {
				return []overview.Group{
					{Group: "lab/x", Problems: []overview.Problem{{Severity: overview.SeverityError, PV: "OWNED", Text: "policy vacuum owns the PV"}, {Severity: overview.SeverityInfo, Text: "nothing"}}},
					{Group: "lab/old", Settings: overview.Settings{ExpiresAt: "2025-12-31T00:00:00Z"}},
				}, ""
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	r.handler, r.url = h, srv.URL
	return r
}

// connected is the state of a PV whose samples arrive.
func connectedPV(pv string) capture.Status {
	return capture.Status{
		PV: pv, Group: "lab/x", State: capture.Connected, Since: newYear - 3600*second, Host: "ioc:5064", Received: 9, Stored: 7, HasLast: true,
		Last: sample.Sample{Time: newYear - second}, Update: capture.Update{Arrived: newYear - second, Time: newYear - second},
	}
}

// TestWhyAsksTheStore checks causes that the store knows: expired, deleted, given up, removed by an expired group.
func TestWhyAsksTheStore(t *testing.T) {
	storage := ""
	r := newWhyRig(t, openStore(t), &storage)
	old := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC).UnixNano() // hours on the tier 1d have expired
	r.check(r.store.AddChannel(t.Context(), store.Channel{PV: "OLD", Types: []sample.Type{sample.Float64}, Starts: []store.Bucket{store.Hour.Of(old).In(store.Keep1d)}}))
	r.put("OLD", ramp(newYear-10*second, 10), 1)
	r.put("CUT", ramp(newYear-3600*second, 10), 1)
	r.check(r.store.AddChannel(t.Context(), store.Channel{PV: "CUT", Deleted: []store.Deleted{{From: newYear - 7200*second, To: newYear - 3700*second}}}))
	r.check(r.store.PutMarks(t.Context(),
		store.PVMark{PV: "CUT", Mark: sample.Mark{Time: newYear - 7200*second, End: newYear - 3700*second, Kind: sample.SamplesDeleted, Text: "lab/x: bad calibration"}},
		store.PVMark{PV: "CUT", Mark: sample.Mark{Time: newYear - 1900*second, End: newYear - 1700*second, Kind: sample.Lost, Reason: sample.Overflow, Count: 3}},
		store.PVMark{PV: "GONE", Mark: sample.Mark{Time: newYear - 60*second, Kind: sample.Removed, Text: "lab/old"}}))
	r.channels = channels{connectedPV("CUT"), connectedPV("OLD"), {PV: "LOST", Group: unreachable}}
	for path, want := range map[string][]string{
		"OLD":                               {"", "", "samples arrive"},
		"OLD?at=2020-01-02T12:00:00Z":       {"expired", "retention", "have expired"},
		"CUT?at=2025-12-31T22:30:00Z":       {"deleted", "retention", "were deleted on request: lab/x: bad calibration"},
		"CUT?at=2025-12-31T23:00:05Z":       {"", "", "is of 2025-12-31T23:00:05Z"},
		"CUT?at=2025-12-30T00:00:00Z":       {"not_yet", "group", "it was not captured yet"},
		"CUT?at=2025-12-31T23:30:00Z":       {"lost", "filter", "3 samples of the time were lost: overflow"},
		"GONE":                              {"expired_group", "group", "group lab/old ended at 2025-12-31T00:00:00Z"},
		"OWNED":                             {"invalid_group", "group", "policy vacuum owns the PV"},
		"cut":                               {"unknown_pv", "group", "no PV of this name"},
		"LOST":                              {"unknown", "group", "the state of the channel is not known"},
		"LOST?at=2025-12-31T22:30:00Z":      {"unknown_pv", "group", ""},
		"CUT.VAL?at=2025-12-31T22:30Z":      {"deleted", "retention", ""},
		"ca:%2F%2FCUT?at=2025-12-31T22:30Z": {"deleted", "retention", ""},
	} {
		w := r.why(path)
		if w.Cause != want[0] || w.Step != want[1] || !strings.Contains(w.Text, want[2]) || w.OK != (want[0] == "") {
			t.Errorf("%s: the cause is %q at step %q: %s; want %q at %q: %s", path, w.Cause, w.Step, w.Text, want[0], want[1], want[2])
		}
	}
	if w := r.why("cut"); !strings.Contains(w.Advice, "Did you mean CUT?") {
		t.Errorf("the advice is %s", w.Advice)
	}
	for _, path := range []string{"CUT?at=2026-01-02T00:00:00Z", "CUT?at=soon", "CUT?from=1"} {
		if code, text := r.get("/api/v1/why/" + path); code != http.StatusBadRequest || !strings.Contains(text, "parameter ") {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}

	storage = "StorageAway: the store does not accept samples"
	r = newWhyRig(t, r.store, &storage)
	r.channels = channels{connectedPV("CUT")}
	if w := r.why("CUT"); w.Cause != "store_away" || !strings.Contains(w.Text, "2 samples of the PV wait") || !strings.HasPrefix(w.step("journal"), "problem: StorageAway") {
		t.Errorf("while the store does not accept samples: %+v", w)
	}
}

// TestWhyWithoutTheStore checks that an answer says what it lacks while the store does not answer.
func TestWhyWithoutTheStore(t *testing.T) {
	storage := ""
	r := newWhyRig(t, failingStore{openStore(t)}, &storage)
	r.channels = channels{connectedPV("A")}
	w := r.why("A")
	if w.Cause != "unreadable" || !strings.Contains(w.Text, errNoNode.Error()) || w.step("store") != "problem: no node answers" || w.step("read") != "unknown: no node answers" || !strings.HasPrefix(w.step("connect"), "ok: ") {
		t.Errorf("a captured PV: %+v", w)
	}
	if w := r.why("NONE"); w.Cause != "not_captured" || !strings.Contains(w.Text, errNoNode.Error()) {
		t.Errorf("a PV that is not captured: %+v", w)
	}
	if w := r.why("A?at=-2h"); w.Cause != "unknown" {
		t.Errorf("an earlier time: %+v", w)
	}
}

// TestWhyHidesGroups checks that a reader who may not read every PV learns nothing of groups.
func TestWhyHidesGroups(t *testing.T) {
	g, _ := newTenants(t, allMethods)
	g.cfg.Overview.Groups = func() ([]overview.Group, string) {
		return []overview.Group{{Group: "ns/secret", Problems: []overview.Problem{{Severity: overview.SeverityError, PV: "PUBLIC:Y", Text: "SECRET:A is faulty"}}}}, "a manifest is invalid: SECRET:B"
	}
	g.serve()
	for _, pv := range []string{"PUBLIC:Y", "NONE", "SECRET:A"} {
		if res, text := g.ask("/api/v1/why/%s", pv, g.bob); res.StatusCode != 200 || slices.ContainsFunc([]string{"faulty", "manifest", "ns/secret"}, func(s string) bool { return strings.Contains(text, s) }) ||
			!strings.Contains(text, "only those who may read every PV see the groups") {
			t.Errorf("%s: %d %s", pv, res.StatusCode, text)
		}
	}
}
