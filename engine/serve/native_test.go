package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

func TestChannels(t *testing.T) {
	r := newRig(t)
	r.capture()
	list := func(query string) (pvs, next string) {
		t.Helper()
		code, text := r.get("/api/v1/channels?" + query)
		var p struct {
			Channels []struct{ PV string }
			Next     string
		}
		if err := json.Unmarshal([]byte(text), &p); err != nil || code != 200 {
			t.Fatalf("the query %s returns %d %s: %v", query, code, text, err)
		}
		for _, c := range p.Channels {
			pvs += c.PV
		}
		return pvs, p.Next
	}
	for query, want := range map[string]string{
		"": "ABCD", "pv=A*": "A", "state=paused": "D", "group=ns/rf": "CD", "limit=2": "AB", "limit=2&after=B": "CD", "limit=4": "ABCD",
		"after=D": "", "group=ns/rf&state=connected": "",
		"sort=rate": "ABCD", "sort=last": "BCDA", "sort=last&limit=3": "BCD", "sort=stored&pv=A*": "A",
	} {
		pvs, next := list(query)
		wantNext := ""
		if query == "limit=2" {
			wantNext = "B"
		}
		if pvs != want || next != wantNext {
			t.Errorf("the query %q returns %s, next %q", query, pvs, next)
		}
	}
	for _, query := range []string{"limit=0", "limit=x", "state=lost", "sort=name", "after=A&sort=rate"} {
		code, text := r.get("/api/v1/channels?" + query)
		if code != 400 || !strings.Contains(text, `"error":"parameter `+query[:4]) {
			t.Errorf("GET %s returns %d %s", query, code, text)
		}
	}
}

// TestNamesByPatternAndByLikeness checks that a client finds the names of PVs by a pattern, in pages, and by a name that
// is misspelt.
func TestNamesByPatternAndByLikeness(t *testing.T) {
	r := newRig(t)
	for _, pv := range []string{"SR01:PRES", "SR02:PRES", "SR01:TEMP", "BR01:PRES", "X"} {
		r.addChannel(pv, sample.Float64, newYear)
	}
	for query, want := range map[string]string{
		"":                                       `{"names":["BR01:PRES","SR01:PRES","SR01:TEMP","SR02:PRES","X"]}`,
		"pv=SR*":                                 `{"names":["SR01:PRES","SR01:TEMP","SR02:PRES"]}`,
		"pv=SR*&limit=2":                         `{"names":["SR01:PRES","SR01:TEMP"],"next":"SR01:TEMP"}`,
		"pv=SR*&after=SR01:TEMP":                 `{"names":["SR02:PRES"]}`,
		"pv=NO*":                                 `{"names":[]}`,
		"pv=sr*":                                 `{"names":[]}`,
		"pv=*r01:p*&ignoreCase=true":             `{"names":["BR01:PRES","SR01:PRES"]}`,
		"pv=sr01:pres&ignoreCase=true":           `{"names":["SR01:PRES"]}`,
		"pv=sr*&ignoreCase=true&limit=1&after=S": `{"names":["SR01:PRES"],"next":"SR01:PRES"}`,
		"near=sr01:pres":                         `{"names":["SR01:PRES","BR01:PRES","SR02:PRES"]}`,
		"near=SR01:PRS&limit=1":                  `{"names":["SR01:PRES"]}`,
		"near=QQQQQQQQQ":                         `{"names":[]}`,
	} {
		if code, got := r.get("/api/v1/names?" + query); code != 200 || got != want+"\n" {
			t.Errorf("the query %q returns %d %s, want %s", query, code, got, want)
		}
	}
	for query, says := range map[string]string{
		"limit=0": "parameter limit", "near=A&limit=100": "from 1 to 20", "near=A&pv=B": "parameter near", "nearest=A": "did you mean near?",
		"pv=A&ignoreCase=yes": "parameter ignoreCase",
	} {
		if code, got := r.get("/api/v1/names?" + query); code != 400 || !strings.Contains(got, says) {
			t.Errorf("the query %q returns %d %s, which does not say %q", query, code, got, says)
		}
	}
}

func TestChannel(t *testing.T) {
	r := newRig(t)
	r.capture()
	want := `{"pv":"A","group":"ns/vacuum","provider":"ca","state":"connected","since":"2026-01-01T00:00:00Z","host":"10.0.0.1:5064","type":"float64","count":1,` +
		`"sampling":"Monitor","retention":{"raw":"7d","rollups":[{"every":"10s","keep":"forever"}]},"rate":10,"connects":2,"lostConnections":1,"received":100,"stored":90,"pending":6,"dropped":{"deadband":4},` +
		`"last":{"time":"2026-01-01T00:00:00.000000005Z","value":"Infinity","severity":"MAJOR","status":"HIHI"}}` + "\n"
	if code, got := r.get("/api/v1/channels/A.VAL"); code != 200 || got != want {
		t.Errorf("got %d\n%swant\n%s", code, got, want)
	}
	if code, got := r.get("/api/v1/channels/NO"); code != 404 || !strings.Contains(got, "no ArchiveGroup captures NO") {
		t.Errorf("an unknown channel returns %d %s", code, got)
	}
}

func TestStatusAddsUp(t *testing.T) {
	r := newRig(t)
	r.capture()
	want := `{"total":{"channels":4,"states":{"connected":1,"disconnected":1,"paused":1,"searching":1},"rate":10,"received":100,"stored":90,"pending":6,"dropped":{"deadband":4}},` +
		`"groups":[{"group":"ns/rf","channels":2,"states":{"paused":1,"searching":1},"rate":0,"received":0,"stored":0,"pending":0},` +
		`{"group":"ns/vacuum","channels":2,"states":{"connected":1,"disconnected":1},"rate":10,"received":100,"stored":90,"pending":6,"dropped":{"deadband":4}}]}` + "\n"
	if _, got := r.get("/api/v1/status"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSamplesAndMarks(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear, 2), 1)
	text := &sample.Run{Type: sample.String}
	text.Append(&sample.Sample{Time: newYear + 5*second, Tag: sample.MakeTag(sample.Invalid, 17), Bytes: []byte("off")})
	r.put("X", text, 2)
	for _, m := range []sample.Mark{
		{Time: newYear, Kind: sample.Connected, Text: "10.0.0.1:5064"},
		{Time: newYear + 2, End: newYear + 3, Kind: sample.Lost, Reason: sample.Overflow, Count: 7},
	} {
		r.check(r.store.PutMarks(context.Background(), store.PVMark{PV: "X", Writer: store.WriterID{1}, Mark: m}))
	}
	marks := `"marks":[{"time":"2026-01-01T00:00:00Z","kind":"connected","text":"10.0.0.1:5064"},` +
		`{"time":"2026-01-01T00:00:00.000000002Z","end":"2026-01-01T00:00:00.000000003Z","kind":"lost","reason":"overflow","count":7}],"noData":{"cause":"not_captured","text":"no group captures the PV; the archive does not know since when"}}` + "\n"
	want := `{"pv":"X","runs":[{"type":"float64","samples":[
{"time":"2026-01-01T00:00:00Z","value":0.0,"severity":"NO_ALARM","status":"NO_ALARM"},
{"time":"2026-01-01T00:00:01Z","value":1.0,"severity":"NO_ALARM","status":"NO_ALARM"}]},{"type":"string","samples":[
{"time":"2026-01-01T00:00:05Z","value":"off","severity":"INVALID","status":"UDF"}]}],` + marks
	const span = "?pv=X&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z"
	if _, got := r.get("/api/v1/samples" + span); got != want || !json.Valid([]byte(got)) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if _, got := r.get("/api/v1/marks" + span); got != `{"pv":"X",`+marks {
		t.Errorf("got\n%swant\n%s", got, marks)
	}
	for _, path := range []string{"samples", "marks"} {
		if code, got := r.get("/api/v1/" + path + "?pv=NO"); code != 404 || !strings.Contains(got, `"error":"reading NO: unknown PV"`) {
			t.Errorf("%s of an unknown PV returns %d %s", path, code, got)
		}
		if code, got := r.get("/api/v1/" + path + "?pv=X&to=x"); code != 400 || !strings.Contains(got, "parameter to") {
			t.Errorf("%s with an invalid time returns %d %s", path, code, got)
		}
	}
}

// TestWhyThereIsNoData checks that answers about a PV without data say why and since when.
func TestWhyThereIsNoData(t *testing.T) {
	r := newRig(t)
	r.capture()
	w := store.WriterID{1}
	r.check(r.store.PutMarks(context.Background(),
		store.PVMark{PV: "C", Writer: w, Mark: sample.Mark{Time: newYear - second, Kind: sample.Searching, Text: "asked others"}},
		store.PVMark{PV: "GONE", Writer: w, Mark: sample.Mark{Time: newYear - second, Kind: sample.Removed, Text: "ns/rf"}},
		store.PVMark{PV: "GONE", Writer: w, Mark: sample.Mark{Time: newYear, End: newYear, Kind: sample.Lost, Count: 1}},
	))
	for path, want := range map[string]string{
		"/api/v1/marks?pv=B":      `"noData":{"cause":"disconnected","since":"2026-01-01T00:00:00Z","text":"timeout"}`,
		"/api/v1/samples?pv=C":    `"noData":{"cause":"searching","since":"2025-12-31T23:59:59Z","text":"no server has answered"}`,
		"/api/v1/channels/C":      `"noData":{"cause":"searching","since":"2025-12-31T23:59:59Z","text":"no server has answered"}`,
		"/api/v1/channels?pv=C":   `"noData":{"cause":"searching","since":"2026-01-01T00:00:01Z","text":"no server has answered"}`,
		"/api/v1/samples?pv=GONE": `"noData":{"cause":"removed","since":"2025-12-31T23:59:59Z","text":"no group captures the PV; the last group was ns/rf"}`,
		"/api/v1/marks?pv=GONE":   `"noData":{"cause":"removed","since":"2025-12-31T23:59:59Z","text":"no group captures the PV; the last group was ns/rf"}`,
		"/api/v1/channels/GONE":   `"noData":{"cause":"removed"`,
		"/api/v1/channels/NO":     `"noData":{"cause":"not_captured","text":`,
		"/api/v1/samples?pv=GONE&from=2025-11-01T00:00:00Z&to=2025-12-01T00:00:00Z": `"noData":{"cause":"unknown","text":`,
	} {
		_, got := r.get(path)
		if !json.Valid([]byte(got)) || !strings.Contains(got, want) {
			t.Errorf("%s returns\n%s\nwant %s", path, got, want)
		}
	}
	if _, got := r.get("/api/v1/marks?pv=A"); strings.Contains(got, "noData") {
		t.Errorf("marks of a connected PV: %s", got)
	}
}

// TestChannelsOfAnUnreachableEngineAreMissing checks that channels of an unreachable engine
// are reported as missing and not as unknown.
func TestChannelsOfAnUnreachableEngineAreMissing(t *testing.T) {
	r := newRig(t)
	r.capture()
	r.channels[1].Group = unreachable
	for _, path := range []string{"/api/v1/channels", "/api/v1/status"} {
		code, got := r.get(path)
		if code != 200 || !strings.Contains(got, `"incomplete":"an engine did not answer"`) {
			t.Errorf("GET %s returns %d %s", path, code, got)
		}
	}
	for _, path := range []string{"/api/v1/channels/B", "/mgmt/bpl/getPVStatus?pv=B"} {
		if code, got := r.get(path); code != 503 || !strings.Contains(got, "did not answer") {
			t.Errorf("GET %s returns %d %s", path, code, got)
		}
	}
	if code, _ := r.get("/retrieval/data/getData.json?pv=B"); code != 200 {
		t.Errorf("the data of B return %d", code)
	}
	// The store has samples and metadata, so these answers do not depend on the engine.
	r.put("B", ramp(newYear-100*second, 2), 1)
	for path, unknown := range map[string]bool{
		"/api/v1/samples?pv=B": true,
		"/api/v1/samples?pv=B&from=2025-12-31T23:58:00Z&to=2025-12-31T23:58:50Z": false, // a past range with samples
		"/api/v1/metadata?pv=B": false,
	} {
		if code, got := r.get(path); code != 200 || strings.Contains(got, `"noData":{"cause":"unknown"`) != unknown {
			t.Errorf("GET %s returns %d %s; the cause is unknown: want %v", path, code, got, unknown)
		}
	}
}

// TestServerWithoutReadAPIs checks that an engine without a reader serves its own paths and no
// read API.
func TestServerWithoutReadAPIs(t *testing.T) {
	reg := prometheus.NewRegistry()
	h, err := New(&Config{
		Gatherer: reg, Metrics: NewMetrics(reg), Ready: func() error { return nil }, Log: slog.New(slog.DiscardHandler),
		Extra: func(mux *http.ServeMux) {
			mux.HandleFunc("GET /internal/report", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "mine") })
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	r := &rig{t: t, url: srv.URL}
	for path, want := range map[string]int{
		"/metrics": 200, "/healthz": 200, "/readyz": 200, "/internal/report": 200,
		"/": 404, "/api/v1/status": 404, "/retrieval/data/getData.json?pv=A": 404, "/mgmt/bpl/getAllPVs": 404,
	} {
		if code, text := r.get(path); code != want {
			t.Errorf("GET %s returns %d %s", path, code, text)
		}
	}
}

// TestStoreThatIsNotOpenYet checks that requests are answered with 503 while the store is not
// open yet.
func TestStoreThatIsNotOpenYet(t *testing.T) {
	st := store.OpenLater(func(context.Context) (store.Store, error) { return nil, errors.New("nobody answers") },
		func(error) string { return "StorageAway: nobody answers" })
	defer st.Close()
	r := newRigOn(t, st)
	for _, path := range []string{"/retrieval/data/getData.json?pv=A", "/api/v1/samples?pv=A", "/mgmt/bpl/getAllPVs", jsonAccess + "/1/samples/A?start=0&end=1"} {
		if code, got := r.get(path); code != 503 || !strings.Contains(got, "not open yet") {
			t.Errorf("GET %s returns %d %s", path, code, got)
		}
	}
	if code, _ := r.get("/readyz"); code != 200 {
		t.Errorf("/readyz returns %d", code)
	}
}
