package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

func (r *rig) names(path string) []string {
	r.t.Helper()
	code, text := r.get(path)
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil || code != 200 || names == nil {
		r.t.Fatalf("GET %s returns %d %s: %v", path, code, text, err)
	}
	return names
}

func TestNames(t *testing.T) {
	r := newRig(t)
	for _, pv := range []string{"SR:B", "BR:A", "SR:A"} {
		r.addChannel(pv, sample.Float64, 0)
	}
	for path, want := range map[string]string{
		"/mgmt/bpl/getAllPVs?limit=-1":                     "BR:A SR:A SR:B",
		"/mgmt/bpl/getAllPVs?limit=2":                      "BR:A SR:A",
		"/mgmt/bpl/getAllPVs?pv=SR*":                       "SR:A SR:B",
		"/mgmt/bpl/getAllPVs?pv=*:A,SR:B,NO":               "BR:A SR:A SR:B",
		"/mgmt/bpl/getAllPVs?regex=.*A":                    "BR:A SR:A",
		"/mgmt/bpl/getAllPVs?pv=NO":                        "",
		"/retrieval/bpl/getMatchingPVs?regex=SR.*&limit=1": "SR:A",
		"/retrieval/bpl/getMatchingPVs?pv=?R:A":            "BR:A SR:A",
	} {
		if got := strings.Join(r.names(path), " "); got != want {
			t.Errorf("GET %s returns %s", path, got)
		}
	}
	if code, got := r.get("/retrieval/bpl/searchForPVsRegex?regex=SR.*"); code != 200 || got != "SR:A\nSR:B\n" {
		t.Errorf("searchForPVsRegex returns %d %q", code, got)
	}
	if code, got := r.get("/retrieval/bpl/searchForPVsRegex?regex=("); code != 400 || !strings.Contains(got, "parameter regex") {
		t.Errorf("an invalid expression returns %d %s", code, got)
	}
}

func (r *rig) capture() {
	r.channels = channels{
		{PV: "A", Group: "ns/vacuum", State: capture.Connected, Since: newYear, Sampling: "Monitor",
			Retention: store.Retention{Raw: store.Keep7d, Levels: [store.MaxLevels]store.Level{store.LevelOf(10*time.Second, store.Forever)}}, Type: sample.Float64, Count: 1,
			Host: "10.0.0.1:5064", Rate: 10, Connects: 2, LostConnections: 1, Received: 100, Stored: 90, HasLast: true,
			Dropped: [sample.NumReasons]uint64{sample.Deadband: 4},
			Last:    sample.Sample{Time: newYear + 5, Tag: sample.MakeTag(sample.Major, 3), Word: math.Float64bits(math.Inf(1))}},
		{PV: "B", Group: "ns/vacuum", State: capture.Disconnected, Since: newYear, Sampling: "Scan 10s", Connects: 1, LostConnections: 1, Cause: "timeout"},
		{PV: "C", Group: "ns/rf", State: capture.Searching, Since: newYear, Sampling: "Monitor", Absent: sample.Searching, AbsentSince: newYear + second,
			Cause: "no server has answered"},
		{PV: "D", Group: "ns/rf", State: capture.Paused, Sampling: "Monitor"},
	}
	for _, pv := range []string{"A", "B", "C", "D"} {
		r.addChannel(pv, sample.Unknown, 0)
	}
}

func TestPVStatus(t *testing.T) {
	r := newRig(t)
	r.capture()
	want := []string{
		`{"pvName":"A.VAL","status":"Being archived","isMonitored":"true","samplingPeriod":"0.0","connectionState":"true",` +
			`"lastEvent":"Jan/01/2026 00:00:00 UTC","connectionLastRestablished":"Jan/01/2026 00:00:00 UTC","connectionLossRegainCount":"1",` +
			`"lastRotateLogs":"Never","appliance":"varve","pvNameOnly":"A"}`,
		`{"pvName":"B","status":"Being archived","isMonitored":"false","samplingPeriod":"10.0","connectionState":"false",` +
			`"lastEvent":"Never","connectionLossRegainCount":"1","lastRotateLogs":"Never","appliance":"varve","pvNameOnly":"B",` +
			`"noDataCause":"timeout","noDataSince":"Jan/01/2026 00:00:00 UTC"}`,
		`{"pvName":"C","status":"Initial sampling","noDataCause":"no server has answered","noDataSince":"Jan/01/2026 00:00:01 UTC"}`,
		`{"pvName":"D","status":"Paused","appliance":"varve","pvNameOnly":"D"}`,
		`{"pvName":"E","status":"Not being archived"}`,
	}
	const names = "A.VAL,B,C,D,E"
	_, got := r.get("/mgmt/bpl/getPVStatus?pv=" + names)
	if w := "[" + strings.Join(want, ",") + "]\n"; got != w {
		t.Errorf("got\n%swant\n%s", got, w)
	}
	for _, post := range [][2]string{
		{"application/x-www-form-urlencoded", "pv=" + names},
		{"application/json", `["A.VAL","B","C","D","E"]`},
		{"text/plain", strings.ReplaceAll(names, ",", "\n")},
	} {
		_, posted, err := r.do(http.MethodPost, "/mgmt/bpl/getPVStatus", post[1], "Content-Type", post[0])
		r.check(err)
		if posted != got {
			t.Errorf("a POST of %s returns\n%s", post[0], posted)
		}
	}
	var all []struct{ PVName string }
	_, text := r.get("/mgmt/bpl/getPVStatus?pv=*&limit=3")
	r.check(json.Unmarshal([]byte(text), &all))
	if s := fmt.Sprint(all); s != "[{A} {B} {C}]" {
		t.Errorf("a glob returns %s", s)
	}
}

// TestTypeInfoOfAPVThatNeverConnected checks that the type is not invented, and that the answer says
// why it is not known.
func TestTypeInfoOfAPVThatNeverConnected(t *testing.T) {
	r := newRig(t)
	r.capture()
	for _, path := range []string{"/mgmt/bpl/getPVTypeInfo?pv=C", "/retrieval/bpl/getMetadata?pv=C"} {
		if code, got := r.get(path); code != http.StatusNotFound || !strings.Contains(got, "C has no type info, because it has never connected: no server has answered") {
			t.Errorf("%s returns %d %s", path, code, got)
		}
	}
}

// TestChangesAreRefused checks that calls that would change something are refused, and that
// the answer says what to do instead.
func TestChangesAreRefused(t *testing.T) {
	r := newRig(t)
	r.capture()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, call := range []string{"archivePV", "pauseArchivingPV", "resumeArchivingPV", "deletePV", "abortArchivingPV", "changeArchivalParameters"} {
			res, text, err := r.do(method, "/mgmt/bpl/"+call+"?pv=A", "")
			r.check(err)
			if res.StatusCode != http.StatusForbidden || !strings.Contains(text, "ArchiveGroup ns/vacuum") || !json.Valid([]byte(text)) {
				t.Errorf("%s %s returns %d %s", method, call, res.StatusCode, text)
			}
		}
	}
}

func TestOtherPaths(t *testing.T) {
	r := newRig(t)
	for path, want := range map[string]string{
		"/healthz":                  "ok\n",
		"/readyz":                   "ok\n",
		"/retrieval/bpl/getVersion": `{"version":"Varve 1.2.3"}` + "\n",
	} {
		if code, got := r.get(path); code != 200 || got != want {
			t.Errorf("GET %s returns %d %s", path, code, got)
		}
	}
	if code, got := r.get("/api/"); code != 200 || !strings.Contains(got, "getData.json") {
		t.Errorf("the index returns %d %s", code, got)
	}
	if code, _ := r.get("/nowhere"); code != 404 {
		t.Errorf("an unknown path returns %d", code)
	}
	if _, got := r.get("/metrics"); !strings.Contains(got, `varve_http_requests_total{code="404",route="none"} 1`) {
		t.Errorf("/metrics returns %s", got)
	}
	res, _, err := r.do(http.MethodGet, "/healthz", "", "Origin", "http://grafana")
	r.check(err)
	if res.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Error("the answer has no header that allows browsers to read")
	}
	res, _, err = r.do(http.MethodOptions, "/mgmt/bpl/deletePV", "", "Origin", "http://elsewhere")
	r.check(err)
	if m := res.Header.Get("Access-Control-Allow-Methods"); res.StatusCode != 204 || m != "GET" {
		t.Errorf("the preflight request returns %d with methods %s", res.StatusCode, m)
	}
}

func TestFormsOfNamesMatch(t *testing.T) {
	r := newRig(t)
	r.addChannel("SR:A", sample.Float64, 0)
	if got := r.names("/mgmt/bpl/getAllPVs?pv=pva://SR:A.VAL"); !slices.Equal(got, []string{"SR:A"}) {
		t.Errorf("got %v", got)
	}
}
