package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// object returns the answer of a call, which must be a JSON object of texts.
func (r *rig) object(path string) (m map[string]string) {
	r.t.Helper()
	code, text := r.get(path)
	if err := json.Unmarshal([]byte(text), &m); err != nil || code != 200 {
		r.t.Fatalf("GET %s returns %d %s: %v", path, code, text, err)
	}
	return m
}

// entries returns the answer of a call, which must be a JSON list of objects of texts.
func (r *rig) entries(path string) (list []map[string]string) {
	r.t.Helper()
	code, text := r.get(path)
	if err := json.Unmarshal([]byte(text), &list); err != nil || code != 200 || list == nil {
		r.t.Fatalf("GET %s returns %d %s: %v", path, code, text, err)
	}
	return list
}

// TestArchiveInfo checks the calls about the archive as a whole.
func TestArchiveInfo(t *testing.T) {
	r := newRig(t)
	r.capture()
	host := strings.TrimPrefix(r.url, "http://")
	info := r.object("/mgmt/bpl/getApplianceInfo")
	if info["identity"] != "varve" || info["version"] != "Varve 1.2.3" || info["mgmtURL"] != "http://"+host+"/mgmt/bpl" ||
		info["retrievalURL"] != "http://"+host+"/retrieval/bpl" || info["dataRetrievalURL"] != "http://"+host+"/retrieval" {
		t.Errorf("getApplianceInfo returns %v", info)
	}
	if all := r.entries("/mgmt/bpl/getAppliancesInCluster"); len(all) != 1 || all[0]["mgmtURL"] != info["mgmtURL"] {
		t.Errorf("getAppliancesInCluster returns %v", all)
	}
	for path, want := range map[string]string{
		"/mgmt/bpl/getVersions?id=varve":         `{"engine_version":"Varve 1.2.3","etl_version":"Varve 1.2.3","mgmt_version":"Varve 1.2.3","retrieval_version":"Varve 1.2.3"}`,
		"/mgmt/bpl/getPolicyList":                `{"ns/rf":"PVs of ArchiveGroup ns/rf","ns/vacuum":"PVs of ArchiveGroup ns/vacuum"}`,
		"/mgmt/bpl/getApplianceProperties":       `{}`,
		"/mgmt/bpl/getAllAliases":                `[]`,
		"/mgmt/bpl/getAllNamedFlags":             `{}`,
		"/mgmt/bpl/getNamedFlag?name=SKIP":       `{"SKIP":false}`,
		"/mgmt/bpl/getExternalArchiverServers":   `[]`,
		"/mgmt/bpl/getMetaGets":                  `[]`,
		"/mgmt/bpl/getStoresForPV?pv=A":          `{"every-10s":"varve://every-10s?keep=forever","raw":"varve://raw?keep=7d"}`,
		"/mgmt/bpl/getPVsForThisAppliance":       `["A","B","C","D"]`,
		"/mgmt/bpl/getTypeInfoKeys?limit=2":      `["A","B"]`,
		"/mgmt/bpl/getPausedPVsForThisAppliance": `["D"]`,
		"/mgmt/bpl/getAllExpandedPVNames":        `["A","B","C","D"]`,
		"/mgmt/bpl/getAggregatedApplianceInfo":   `{"totalEventRate":"10.0","totalPVCount":"4","totalStorageImpact":{},"totalStorageRate":"192.0"}`,
		"/engine/bpl/getVersion":                 `{"version":"Varve 1.2.3"}`,
		"/engine/bpl/listAllChannels":            `["A","B","C","D"]`,
	} {
		if code, got := r.get(path); code != 200 || got != want+"\n" {
			t.Errorf("GET %s returns %d %s", path, code, got)
		}
	}
	if _, got := r.get("/mgmt/bpl/getPolicyText"); !strings.Contains(got, "ArchiveGroups decide") {
		t.Errorf("getPolicyText returns %s", got)
	}
	if code, got := r.get("/retrieval/ping"); code != 200 || got != "Pong\n" {
		t.Errorf("ping returns %d %s", code, got)
	}
	for _, path := range []string{"/mgmt/bpl/getApplianceInfo?id=x", "/mgmt/bpl/getVersions?id=x"} {
		if code, got := r.get(path); code != 404 || !json.Valid([]byte(got)) {
			t.Errorf("GET %s returns %d %s", path, code, got)
		}
	}
}

// TestLists checks the calls that compare a list of names with the archive.
func TestLists(t *testing.T) {
	r := newRig(t)
	r.capture()
	many := []string{"A.VAL", "B", "E"}
	for i := range 100 {
		many = append(many, fmt.Sprintf("NO:%03d", i))
	}
	for call, want := range map[string]string{
		"/mgmt/bpl/archivedPVs": "A.VAL B", "/retrieval/bpl/filterArchivedPVs": "A.VAL B",
		"/mgmt/bpl/unarchivedPVs": "E", "/mgmt/bpl/archivedPVsNotInList": "C D",
	} {
		if got := strings.Join(r.names(call+"?pv=A.VAL,B,E,B"), " "); got != want {
			t.Errorf("GET %s returns %s", call, got)
		}
		for kind, body := range map[string]string{
			"application/json": `["A.VAL",{"pv":"B"},"E"]`, "text/plain": "A.VAL\nB\nE\n", "application/x-www-form-urlencoded": "pv=A.VAL,B,E",
		} {
			_, text, err := r.do(http.MethodPost, call, body, "Content-Type", kind)
			r.check(err)
			var got []string
			if err := json.Unmarshal([]byte(text), &got); err != nil || strings.Join(got, " ") != want {
				t.Errorf("POST %s of %s returns %s", call, kind, text)
			}
		}
		_, text, err := r.do(http.MethodPost, call, strings.Join(many, "\n"), "Content-Type", "text/plain")
		r.check(err)
		if !strings.HasPrefix(text, `["`+strings.ReplaceAll(want, " ", `","`)) {
			t.Errorf("POST %s of many names returns %s", call, text)
		}
		for _, body := range []string{"", `[1]`, `{}`} {
			res, text, err := r.do(http.MethodPost, call, body, "Content-Type", "application/json")
			r.check(err)
			if res.StatusCode != 400 || !json.Valid([]byte(text)) {
				t.Errorf("POST %s of %q returns %d %s", call, body, res.StatusCode, text)
			}
		}
	}
	for pv, want := range map[string]string{"A.VAL": "true", "D": "true", "E": "false"} {
		if got := r.object("/retrieval/bpl/areWeArchivingPV?pv=" + pv); got["status"] != want {
			t.Errorf("areWeArchivingPV of %s returns %v", pv, got)
		}
	}
}

// captureForReports makes PVs that differ in what reports show.
func (r *rig) captureForReports() {
	connected := capture.Status{Group: "ns/g", State: capture.Connected, Sampling: "Monitor", Type: sample.Float64, Count: 1, Connects: 1, Received: 100}
	fast, slow, wave := connected, connected, connected
	fast.PV, fast.Rate, fast.LostConnections, fast.HasLast, fast.Last = "FAST", 100, 2, true, sample.Sample{Time: newYear - second}
	slow.PV, slow.Rate, slow.HasLast, slow.Last = "SLOW", 0.5, true, sample.Sample{Time: newYear - 9*second}
	slow.Dropped = [sample.NumReasons]uint64{sample.Clock: 70, sample.Overflow: 1}
	wave.PV, wave.Rate, wave.Type, wave.Count, wave.Sampling = "WAVE", 1, sample.Int16.Array(), 1000, "Scan 1s"
	wave.Dropped = [sample.NumReasons]uint64{sample.Overflow: 2, sample.Unsupported: 3}
	lost := capture.Status{PV: "LOST", Group: "ns/g", State: capture.Disconnected, Connects: 1, LostConnections: 5, Host: "ioc:5064",
		AbsentSince: newYear - 60*second, Cause: "the circuit was closed"}
	late := capture.Status{PV: "LATE", Group: "ns/g", State: capture.Searching, AbsentSince: newYear - 30*second, Cause: "no server has answered"}
	never := late
	never.PV = "NEVER"
	stop := capture.Status{PV: "STOP", Group: "ns/g", State: capture.Paused, AbsentSince: newYear - 5*second, Rate: 1000}
	r.channels = channels{fast, late, lost, never, slow, stop, wave}
	for i, s := range r.channels {
		r.addChannel(s.PV, sample.Unknown, 0)
		added := newYear - int64(i+1)*1000*second
		r.check(r.store.PutMarks(context.Background(), store.PVMark{PV: s.PV, Mark: sample.Mark{Time: added, Kind: sample.Searching}},
			store.PVMark{PV: s.PV, Mark: sample.Mark{Time: added + second, Kind: sample.Connected}}))
	}
	r.addChannel("LATE", sample.Float64, newYear) // connected before the engine started again
	for _, pv := range []string{"SLOW", "FAST"} {
		r.putMetadata(pv, -50, "mA", math.NaN(), "")
	}
	r.putMetadata("SLOW", -20, "A", math.NaN(), "")
	r.putMetadata("FAST", -10, "A", math.NaN(), "")
}

// TestReports checks which PVs each report has, in which order, and what it says of the first one.
func TestReports(t *testing.T) {
	r := newRig(t)
	r.captureForReports()
	for call, want := range map[string]struct {
		pvs   string
		first fields
	}{
		"getEventRateReport":                  {"FAST WAVE SLOW LATE LOST NEVER", fields{"eventRate": "100.0"}},
		"getStorageRateReport":                {"FAST WAVE SLOW LATE LOST NEVER", fields{"storageRate_KBperHour": "7031.25", "storageRate_MBperDay": "164.794921875", "storageRate_GBperYear": "58.74037742614746"}},
		"getLostConnectionsReport":            {"LOST FAST LATE NEVER SLOW WAVE", fields{"instance": "varve", "lostConnections": "5", "currentlyConnected": "No"}},
		"getSilentPVsReport":                  {"LATE LOST NEVER WAVE SLOW FAST", fields{"instance": "varve", "lastKnownEvent": "Never"}},
		"getPausedPVsReport":                  {"STOP", fields{"instance": "varve", "modificationTime": "Dec/31/2025 23:59:55 UTC"}},
		"getArchivedWaveforms":                {"WAVE", fields{"samplingmethod": "SCAN", "samplingperiod": "1.0", "elementCount": "1000", "dbrtype": "DBR_WAVEFORM_SHORT"}},
		"getPVsByDroppedEventsTimestamp":      {"SLOW", fields{"eventsDropped": "70"}},
		"getPVsByDroppedEventsBuffer":         {"WAVE SLOW", fields{"eventsDropped": "2"}},
		"getPVsByDroppedEventsTypeChange":     {"WAVE", fields{"eventsDropped": "3"}},
		"getSlowChangingPVsWithDroppedEvents": {"SLOW", fields{"eventsDropped": "70", "totalEvents": "29"}},
		"getRecentlyAddedPVs":                 {"FAST LATE LOST NEVER SLOW STOP WAVE", fields{"instance": "varve", "creationTime": "Dec/31/2025 23:43:20 UTC"}},
		"getRecentlyModifiedPVs":              {"SLOW FAST", fields{"instance": "varve", "modificationTime": "Dec/31/2025 23:59:40 UTC"}},
		"getNeverConnectedPVs": {"NEVER", fields{"requestTime": "Dec/31/2025 23:59:30 UTC", "startOfWorkflow": "Dec/31/2025 23:59:30 UTC",
			"currentState": "METAINFO_REQUESTED", "appliance": "varve", "noDataCause": "no server has answered"}},
		"getCurrentlyDisconnectedPVs": {"LATE LOST", fields{"instance": "varve", "lastKnownEvent": "Never", "connectionLostAt": "Dec/31/2025 23:59:30 UTC",
			"noConnectionAsOfEpochSecs": "1767225570", "hostName": "N/A", "commandThreadID": "N/A", "internalState": "searching", "noDataCause": "no server has answered"}},
		"getCreationReportForAppliance": {"FAST LATE LOST NEVER SLOW STOP WAVE", fields{"creationTS": "1767224600", "paused": "false"}},
	} {
		pvs := strings.Fields(want.pvs)
		want.first["pvName"] = pvs[0]
		got := r.entries("/mgmt/bpl/" + call)
		if names := pvNames(got); !slices.Equal(names, pvs) || !maps.Equal(got[0], want.first) {
			t.Errorf("%s returns %v, the first of which is %v", call, names, got[0])
		}
		if names := pvNames(r.entries("/mgmt/bpl/" + call + "?limit=1")); !slices.Equal(names, pvs[:1]) {
			t.Errorf("%s with limit 1 returns %v", call, names)
		}
		if names := pvNames(r.entries("/mgmt/bpl/" + call + "?pv=S*,*E")); !slices.Equal(names, slices.DeleteFunc(pvs, func(pv string) bool {
			return !strings.HasPrefix(pv, "S") && !strings.HasSuffix(pv, "E")
		})) {
			t.Errorf("%s with a glob returns %v", call, names)
		}
	}
}

type fields = map[string]string

func pvNames(entries []fields) []string {
	names := []string{}
	for _, e := range entries {
		names = append(names, e["pvName"])
	}
	return names
}

func TestTimeSpans(t *testing.T) {
	r := newRig(t)
	r.captureForReports()
	code, got := r.get("/mgmt/bpl/getTimeSpanReport?regex=S.*")
	if want := `{"SLOW":{"creationTS":"1767220600","lastEvent":"1767225591","paused":"false","pvName":"SLOW"},` +
		`"STOP":{"creationTS":"1767219600","paused":"true","pvName":"STOP"}}` + "\n"; code != 200 || got != want {
		t.Errorf("getTimeSpanReport returns %d %s", code, got)
	}
}

// TestTypeInfoHasTimes checks when a PV was added and modified last.
func TestTypeInfoHasTimes(t *testing.T) {
	r := newRig(t)
	r.captureForReports()
	for _, call := range []string{"/mgmt/bpl/getPVTypeInfo", "/retrieval/bpl/getMetadata"} {
		var got struct{ CreationTime, ModificationTime, ComputedStorageRate string }
		_, text := r.get(call + "?pv=SLOW.VAL")
		r.check(json.Unmarshal([]byte(text), &got))
		if fmt.Sprint(got) != "{2025-12-31T22:36:40.000Z 2025-12-31T23:59:40.000Z 2.9}" {
			t.Errorf("%s returns %v", call, got)
		}
	}
}

func TestExportConfig(t *testing.T) {
	r := newRig(t)
	r.captureForReports()
	var got []struct{ PVName, DBRType, Units string }
	_, text := r.get("/mgmt/bpl/exportConfig")
	r.check(json.Unmarshal([]byte(text), &got))
	if want := "[{FAST DBR_SCALAR_DOUBLE A} {LATE DBR_SCALAR_DOUBLE } {SLOW DBR_SCALAR_DOUBLE A} {WAVE DBR_WAVEFORM_SHORT }]"; fmt.Sprint(got) != want {
		t.Errorf("exportConfig returns %v", got)
	}
	if _, limited := r.get("/mgmt/bpl/exportConfigForAppliance?limit=1"); strings.Count(limited, "pvName") != 1 {
		t.Errorf("exportConfigForAppliance with limit 1 returns %s", limited)
	}
}

func TestApplianceMetrics(t *testing.T) {
	r := newRig(t)
	r.captureForReports()
	got := r.entries("/mgmt/bpl/getApplianceMetrics")[0]
	for name, want := range map[string]string{
		"instance": "varve", "status": "Working", "pvCount": "7", "connectedPVCount": "3", "disconnectedPVCount": "3", "pausedPVCount": "1", "eventRate": "1101.5",
	} {
		if got[name] != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	for _, call := range []string{"/mgmt/bpl/getInstanceMetrics", "/mgmt/bpl/getStorageMetrics"} {
		if all := r.entries(call); !maps.Equal(all[0], got) {
			t.Errorf("%s returns %v", call, all)
		}
	}
	if m := r.object("/retrieval/bpl/getApplianceMetrics"); !maps.Equal(m, got) {
		t.Errorf("the call below /retrieval returns %v", m)
	}
	for _, call := range []string{
		"/mgmt/bpl/getApplianceMetricsForAppliance", "/mgmt/bpl/getInstanceMetricsForAppliance", "/mgmt/bpl/getStorageMetricsForAppliance",
		"/retrieval/bpl/getApplianceMetricsForAppliance", "/retrieval/bpl/getInstanceMetricsForAppliance",
	} {
		if all := r.entries(call + "?appliance=varve"); len(all) < 5 || all[0]["value"] != "varve" {
			t.Errorf("%s returns %v", call, all)
		}
		if code, _ := r.get(call + "?appliance=other"); code != 404 {
			t.Errorf("%s of another appliance returns %d", call, code)
		}
	}
}

// TestReportsNeedEveryEngine checks that a report is refused while PVs would be missing, and that
// the metrics say so.
func TestReportsNeedEveryEngine(t *testing.T) {
	r := newRig(t)
	r.captureForReports()
	r.channels = append(r.channels, capture.Status{PV: "X", Group: unreachable})
	for _, call := range []string{"getEventRateReport", "getNeverConnectedPVs", "getRecentlyAddedPVs", "getPVsForThisAppliance", "exportConfig", "getPolicyList", "getAggregatedApplianceInfo"} {
		res, text, err := r.do(http.MethodGet, "/mgmt/bpl/"+call, "")
		r.check(err)
		if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || !json.Valid([]byte(text)) {
			t.Errorf("%s returns %d %s", call, res.StatusCode, text)
		}
	}
	if got := r.entries("/mgmt/bpl/getApplianceMetrics")[0]; got["status"] != "Stopped - engine" || got["pvCount"] != "7" {
		t.Errorf("the metrics are %v", got)
	}
}

// TestCallsAreStrict checks that parameters that a call does not use are refused, and that every
// refusal is JSON that says what would be right.
func TestCallsAreStrict(t *testing.T) {
	r := newRig(t)
	r.capture()
	for path, want := range map[string]struct {
		code int
		says string
	}{
		"/mgmt/bpl/getAllPVs?limits=3":                     {400, "did you mean limit?"},
		"/mgmt/bpl/getAllPVs?limit=1&limit=2":              {400, "occurs 2 times"},
		"/mgmt/bpl/getAllPVs?limit=x":                      {400, "parameter limit"},
		"/mgmt/bpl/getAllPVs?pv=A&regex=B":                 {400, "pv and regex"},
		"/mgmt/bpl/getPVTypeInfo?pv=A&pv=B":                {400, "parameter pv: it occurs 2 times"},
		"/mgmt/bpl/getVersions?x=1":                        {400, "did you mean id?"},
		"/mgmt/bpl/getMetaGets?limit=1":                    {400, "takes no parameters"},
		"/retrieval/bpl/searchForPVsRegex?regex=A&limit=1": {400, "unknown"},
		"/mgmt/bpl/getPVDetails":                           {400, "parameter pv"},
		"/retrieval/bpl/getMatchingPVs":                    {400, "parameter pv or regex"},
		"/retrieval/bpl/searchForPVsRegex":                 {400, "parameter regex"},
		"/mgmt/bpl/getPVDetails?pv=NO":                     {404, "unknown PV"},
		"/mgmt/bpl/getAllPV":                               {404, "did you mean /mgmt/bpl/getAllPVs?"},
		"/mgmt/bpl/":                                       {404, "is not a call"},
		"/retrieval/bpl/getVersions":                       {404, "did you mean /retrieval/bpl/getVersion?"},
		"/mgmt/bpl/getProcessMetrics":                      {501, "/metrics has"},
		"/mgmt/bpl/getPVsByStorageConsumed?limit=100":      {501, "does not count the bytes"},
		"/retrieval/bpl/getClientConfig?configFile=x":      {501, "keep them in files"},
		"/engine/bpl/getData.raw?pv=A":                     {501, "/retrieval/data/getData.raw"},
		"/engine/bpl/getVersions":                          {404, "did you mean /engine/bpl/getVersion?"},
		"/etl/bpl/getLastKnownEvent?pv=A":                  {404, "no sample of A"},
	} {
		code, got := r.get(path)
		var refusal struct{ Validation string }
		if err := json.Unmarshal([]byte(got), &refusal); err != nil || code != want.code || !strings.Contains(refusal.Validation, want.says) {
			t.Errorf("GET %s returns %d %s", path, code, got)
		}
	}
	res, text, err := r.do(http.MethodPost, "/mgmt/bpl/getEventRateReport", "")
	r.check(err)
	if res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD" || !json.Valid([]byte(text)) {
		t.Errorf("a POST of a report returns %d %s", res.StatusCode, text)
	}
	if got := r.names("/mgmt/bpl/getAllPVs?pv=A&pv=B"); len(got) != 2 {
		t.Errorf("two globs return %v", got)
	}
	if got := r.entries("/mgmt/bpl/getPVStatus?pv=A&reporttype=short"); len(got) != 1 {
		t.Errorf("a short report returns %v", got)
	}
}

// needed has the parameters that calls of the Appliance need.
var needed = map[string]string{
	"getMetadata": "?pv=A", "getPVDetails": "?pv=A", "getPVTypeInfo": "?pv=A", "getStoresForPV": "?pv=A", "areWeArchivingPV": "?pv=A",
	"filterArchivedPVs": "?pv=A", "archivedPVs": "?pv=A", "unarchivedPVs": "?pv=A", "archivedPVsNotInList": "?pv=A", "getPVStatus": "?pv=A",
	"searchForPVsRegex": "?regex=A", "getMatchingPVs": "?pv=A", "getNamedFlag": "?name=SKIP", "getApplianceMetricsForAppliance": "?appliance=varve",
	"getInstanceMetricsForAppliance": "?appliance=varve", "getStorageMetricsForAppliance": "?appliance=varve",
	"getDataAtTime": "?pv=A&at=2026-01-01T00:00:00Z", "getLastKnownEvent": "?pv=A",
	"getDataAtTimeForAppliance": "?pv=A&at=2026-01-01T00:00:00Z",
}

// TestEveryCallIsServed sends every call of the reference, and checks that the answer has the status
// that the reference promises: every read is answered, only changes are refused, and no call gives 404.
func TestEveryCallIsServed(t *testing.T) {
	r := newRig(t)
	r.capture()
	r.put("A", ramp(newYear-10*second, 5), 1)
	reference, err := os.ReadFile("../../docs/reference/appliance.md")
	r.check(err)
	rows := regexp.MustCompile(`(?m)^\| (/\S+) \| (\w+) \|`).FindAllStringSubmatch(string(reference), -1)
	if len(rows) < 150 {
		t.Fatalf("the reference has %d calls", len(rows))
	}
	for _, row := range rows {
		name := row[1][strings.LastIndexByte(row[1], '/')+1:]
		query := needed[name]
		if strings.HasPrefix(name, "getData.") || strings.HasPrefix(name, "getDataForPVs.") {
			query = "?pv=A&from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:01Z"
		}
		want := map[string]int{"answered": 200, "edited": 403, "refused": 403, "unsupported": 501}[row[2]] // nobody may edit this archive
		if code, got := r.get(row[1] + query); code != want {
			t.Errorf("%s, which is %s, returns %d %s", row[1], row[2], code, got)
		}
	}
}

// TestLastKnownEvent checks the time of the last sample of a PV.
func TestLastKnownEvent(t *testing.T) {
	r := newRig(t)
	r.capture()
	r.put("A", ramp(newYear-10*second, 5), 1)
	if got := r.object("/etl/bpl/getLastKnownEvent?pv=A"); len(got) != 1 || got["timestamp"] != "2025-12-31T23:59:54.000Z" {
		t.Errorf("getLastKnownEvent returns %v", got)
	}
}

// TestConnectedCount checks the sums of the engine, and that there are none while an engine does not answer.
func TestConnectedCount(t *testing.T) {
	r := newRig(t)
	r.capture()
	want := map[string]string{"total": "4", "connected": "1", "disconnected": "2", "paused": "1"}
	if got := r.object("/engine/bpl/getConnectedPVCountForAppliance"); !maps.Equal(got, want) {
		t.Errorf("getConnectedPVCountForAppliance returns %v, want %v", got, want)
	}
	r.channels = append(r.channels, capture.Status{PV: "E", Group: unreachable})
	if code, got := r.get("/engine/bpl/getConnectedPVCountForAppliance"); code != 503 {
		t.Errorf("while an engine does not answer, getConnectedPVCountForAppliance returns %d %s", code, got)
	}
}
