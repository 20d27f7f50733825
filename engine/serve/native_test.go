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
	for _, query := range []string{"limit=0", "limit=x", "state=lost"} {
		code, text := r.get("/api/v1/channels?" + query)
		if code != 400 || !strings.Contains(text, `"error":"parameter `+query[:5]) {
			t.Errorf("GET %s returns %d %s", query, code, text)
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
		`{"time":"2026-01-01T00:00:00.000000002Z","end":"2026-01-01T00:00:00.000000003Z","kind":"lost","reason":"overflow","count":7}]}` + "\n"
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
	for _, path := range []string{"/retrieval/data/getData.json?pv=A", "/api/v1/samples?pv=A", "/mgmt/bpl/getAllPVs"} {
		if code, got := r.get(path); code != 503 || !strings.Contains(got, "not open yet") {
			t.Errorf("GET %s returns %d %s", path, code, got)
		}
	}
	if code, _ := r.get("/readyz"); code != 200 {
		t.Errorf("/readyz returns %d", code)
	}
}
