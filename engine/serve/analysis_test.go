package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// analysis is an archive with a ramp A and a ramp B of ten samples, an enumeration and a string.
func analysis(t *testing.T) *rig { return analysisOn(newRig(t)) }

func analysisOn(r *rig) *rig {
	from := newYear - 10*second
	r.put("A", ramp(from, 10), 1)
	r.put("B", ramp(from+second/2, 10), 1)
	e := &sample.Run{Type: sample.Enum}
	e.Append(&sample.Sample{Time: from, Word: 1})
	r.put("E", e, 1)
	s := &sample.Run{Type: sample.String}
	s.Append(&sample.Sample{Time: from + 2*second, Bytes: []byte(`a "text"`)})
	r.put("S", s, 1)
	w := &sample.Run{Type: sample.Float64.Array()}
	w.Append(&sample.Sample{Time: from, Bytes: make([]byte, 16)})
	r.put("W", w, 1)
	nan := math.NaN()
	for pv, m := range map[string]sample.Metadata{"A": {Units: "mA", AlarmHigh: 90}, "E": {AlarmHigh: nan, Labels: []string{"Closed", "Open"}}} {
		m.SetLimits([8]float64{nan, nan, nan, nan, nan, m.AlarmHigh, nan, nan})
		r.check(r.store.PutMetadata(r.t.Context(), store.PVMetadata{PV: pv, Time: from - second, Metadata: m}))
	}
	r.check(r.store.PutMarks(r.t.Context(), store.PVMark{PV: "B", Mark: sample.Mark{Time: from + 6*second, Kind: sample.Disconnected}},
		store.PVMark{PV: "B", Mark: sample.Mark{Time: from + 8*second, Kind: sample.Connected}}))
	return r
}

const analysisSpan = "&from=2025-12-31T23:59:50Z&to=2026-01-01T00:00:00Z"

// TestAlignedStatesAreRelabelled checks that a table names no states if their names changed in the range.
func TestAlignedStatesAreRelabelled(t *testing.T) {
	r := analysis(t)
	labels := func() string {
		code, got := r.get("/api/v1/samples?pv=E&align=3s" + analysisSpan)
		if code != 200 {
			t.Errorf("the table is %d %s", code, got)
		}
		head, _, _ := strings.Cut(got, `"rows"`)
		return head
	}
	if head := labels(); !strings.Contains(head, `"labels":["Closed","Open"]`) {
		t.Errorf("the names of the states are missing: %s", head)
	}
	r.check(r.store.PutMetadata(t.Context(), store.PVMetadata{PV: "E", Time: newYear - 5*second, Metadata: sample.Metadata{Labels: []string{"Open", "Closed"}}}))
	if head := labels(); strings.Contains(head, "labels") {
		t.Errorf("the names of the states do not fit all rows: %s", head)
	}
}

// TestAlignedTable checks the rows of a table, and that it says what it has.
func TestAlignedTable(t *testing.T) {
	r := analysis(t)
	code, got := r.get("/api/v1/samples?pv=A&pv=B&pv=E&pv=S&align=3s" + analysisSpan)
	want := `{"notes":{"align":"3s","fill":"last","from":"2025-12-31T23:59:50Z","to":"2026-01-01T00:00:00Z"},"columns":[{"name":"time","type":"time"},` +
		`{"name":"A","type":"float64","unit":"mA"},{"name":"B","type":"float64"},{"name":"E","type":"int64","labels":["Closed","Open"]},{"name":"S","type":"string"}],"rows":[
["2025-12-31T23:59:51.000000000Z",1.0,0.0,1,null],
["2025-12-31T23:59:54.000000000Z",4.0,3.0,1,"a \"text\""],
["2025-12-31T23:59:57.000000000Z",7.0,6.0,1,"a \"text\""],
["2026-01-01T00:00:00.000000000Z",9.0,9.0,1,"a \"text\""]]}
`
	if code != 200 || got != want {
		t.Errorf("the table is %d %s\nwant %s", code, got, want)
	}
	_, got = r.get("/api/v1/samples?pv=B&align=1s&fill=linear" + analysisSpan)
	var table struct{ Rows [][2]any }
	r.check(json.Unmarshal([]byte(got), &table))
	if len(table.Rows) != 11 || table.Rows[3][1] != 2.5 || table.Rows[6][1] != nil || table.Rows[10][1] != nil {
		t.Errorf("the interpolation is %s", got)
	}
	if _, got = r.get("/api/v1/samples?pv=A&align=5s&fill=mean" + analysisSpan); !strings.Contains(got, `:50.000000000Z",2.0],`) {
		t.Errorf("the means are %s", got)
	}
}

// TestWhere checks the samples and the times for which a condition holds, and that the answer says
// when that is not known.
func TestWhere(t *testing.T) {
	r := analysis(t)
	where := "&where=" + url.QueryEscape("B > 2 and E = 'Open'")
	code, got := r.get("/api/v1/samples?pv=A" + where + analysisSpan)
	var one struct {
		PV      string
		Where   string
		Runs    []struct{ Samples []struct{ Value float64 } }
		Seconds map[string]float64
	}
	r.check(json.Unmarshal([]byte(got), &one))
	if code != 200 || one.Where != "B > 2 and E = 'Open'" || len(one.Runs) != 1 || fmt.Sprint(one.Runs[0].Samples) != "[{4} {5} {8} {9}]" ||
		math.Round(one.Seconds["true"]) != 5 || one.Seconds["unknown"] != 2.5 {
		t.Errorf("the answer is %d %s", code, got)
	}
	if code, got := r.get("/api/v1/samples?pv=A&pv=B" + where + analysisSpan); code != 200 || !strings.HasPrefix(got, `{"pvs":[{"pv":"A",`) || strings.Count(got, `"seconds"`) != 2 {
		t.Errorf("the answer for two PVs is %d %s", code, got)
	} else {
		r.check(json.Unmarshal([]byte(got), &struct{ PVs []any }{}))
	}
	code, got = r.get("/api/v1/intervals?" + where[1:] + analysisSpan)
	want := `{"where":"B > 2 and E = 'Open'","intervals":[
{"from":"2025-12-31T23:59:50Z","to":"2025-12-31T23:59:50.5Z","state":"unknown"},
{"from":"2025-12-31T23:59:53.5Z","to":"2025-12-31T23:59:56Z","state":"true"},
{"from":"2025-12-31T23:59:56Z","to":"2025-12-31T23:59:58Z","state":"unknown"},
{"from":"2025-12-31T23:59:58Z","to":"2026-01-01T00:00:00Z","state":"true"}],"seconds":{`
	if code != 200 || !strings.HasPrefix(got, want) {
		t.Errorf("the intervals are %d %s\nwant %s", code, got, want)
	}
}

// TestSnapshot checks the values of PVs and of a group at a time, with what is known about them.
func TestSnapshot(t *testing.T) {
	r := analysis(t)
	code, got := r.get("/api/v1/snapshot?pv=A&pv=E&pv=S&pv=NONE&at=2025-12-31T23:59:51.5Z")
	want := `{"at":"2025-12-31T23:59:51.5Z","pvs":[
{"pv":"A","type":"float64","time":"2025-12-31T23:59:51Z","value":1.0,"severity":"NO_ALARM","status":"NO_ALARM","metadata":{"units":"mA","precision":0,"limits":{"alarmHigh":90}}},
{"pv":"E","type":"enum","time":"2025-12-31T23:59:50Z","value":1,"label":"Open","severity":"NO_ALARM","status":"NO_ALARM","metadata":{"precision":0,"labels":["Closed","Open"]}},
{"pv":"S","noData":{"cause":"not_captured","text":"no group captures the PV; the archive does not know since when"}},
{"pv":"NONE","noData":{"cause":"unknown_pv","text":"the archive has never captured this PV"}}]}
`
	if code != 200 || got != want {
		t.Errorf("the snapshot is %d %s\nwant %s", code, got, want)
	}
	r.channels = channels{{PV: "A", Group: "lab/x", State: capture.Connected}, {PV: "B", Group: "lab/y", State: capture.Connected}}
	if code, got := r.get("/api/v1/snapshot?group=lab/x"); code != 200 || !strings.Contains(got, `"pv":"A"`) || strings.Contains(got, `"pv":"B"`) {
		t.Errorf("the snapshot of a group is %d %s", code, got)
	}
	r.channels = append(r.channels, capture.Status{PV: "C", Group: unreachable})
	if code, _ := r.get("/api/v1/snapshot?group=lab/x"); code != 503 {
		t.Errorf("a group whose engine may be unreachable returns %d", code)
	}
}

// TestSnapshotOfManyPVs reads 1,000 PVs in one request.
func TestSnapshotOfManyPVs(t *testing.T) {
	r := newRig(t)
	q := url.Values{}
	for i := range 1000 {
		pv := fmt.Sprintf("PV:%d", i)
		q.Add("pv", pv)
		if i%100 > 0 {
			r.put(pv, ramp(newYear-10*second, 10), 1)
		}
	}
	begin := time.Now()
	code, got := r.get("/api/v1/snapshot?" + q.Encode())
	t.Logf("read 1,000 PVs in %v", time.Since(begin))
	if code != 200 || strings.Count(got, `"value":9.0`) != 990 || strings.Count(got, `"cause":"unknown_pv"`) != 10 {
		t.Errorf("the snapshot is %d %.500s", code, got)
	}
	q.Add("pv", "ONE:MORE")
	if code, got := r.get("/api/v1/snapshot?" + q.Encode()); code != 400 || !strings.Contains(got, "the request has 1001 of them, and may have 1000") {
		t.Errorf("too many PVs return %d %s", code, got)
	}
}

// TestLimitsOfManyPVs reads the history of alarm limits of several PVs at once.
func TestLimitsOfManyPVs(t *testing.T) {
	r := analysis(t)
	nan := math.NaN()
	m := sample.Metadata{Units: "mA"}
	m.SetLimits([8]float64{nan, nan, nan, nan, nan, 95, nan, nan})
	r.check(r.store.PutMetadata(t.Context(), store.PVMetadata{PV: "A", Time: newYear - 5*second, Metadata: m}))
	code, got := r.get("/api/v1/metadata?pv=A&pv=E" + analysisSpan)
	var all struct {
		PVs []struct {
			PV      string
			History []struct{ Limits map[string]float64 }
		}
	}
	r.check(json.Unmarshal([]byte(got), &all))
	if code != 200 || len(all.PVs) != 2 || all.PVs[0].PV != "A" || len(all.PVs[0].History) != 2 || all.PVs[0].History[0].Limits["alarmHigh"] != 90 ||
		all.PVs[0].History[1].Limits["alarmHigh"] != 95 || len(all.PVs[1].History) != 1 {
		t.Errorf("the history is %d %s", code, got)
	}
}

// TestErrorsOfAnalysis checks that errors name the parameter and what would be right.
func TestErrorsOfAnalysis(t *testing.T) {
	r := analysis(t)
	for path, want := range map[string]string{
		"samples?pv=A&align=1x":                                   "400 parameter align: \\\"1x\\\" is not a duration",
		"samples?pv=A&align=1us":                                  "400 from 1ms to 366d",
		"samples?pv=A&fill=mean":                                  "400 parameter align: \\\"\\\" is not a duration",
		"samples?pv=A&align=1s&fill=median":                       "400 not one of last, mean, linear",
		"samples?pv=A&align=1s&fil=mean":                          "400 did you mean fill?",
		"samples?pv=A&align=1s&points=3":                          "400 parameter points: it cannot be combined",
		"samples?pv=W&align=1s":                                   "400 W has values of type float64[]",
		"samples?pv=E&align=1s&fill=mean&to=2026-01-01T00:00:00Z": "400 mean needs numbers",
		"samples?pv=A&pv=AB&align=1s":                             "404 reading AB: unknown PV; similar names are A, B",
		"samples?pv=A&align=1ms&from=-7d":                         "413 the table is too large",
		"samples?pv=A&align=1s&format=xml":                        "400 parameter format: \\\"xml\\\" is not one of json, csv, arrow, parquet",
		"samples?pv=A&pv=time&align=1s":                           "400 parameter align: a PV has the name time, as the first column",
		"samples?pv=A&where=B+%3E+1&points=3":                     "400 parameter points: it cannot be combined",
		"samples?pv=A&points=3&format=csv":                        "400 parameter points: an answer in the format csv has samples",
		"marks?pv=A&at=now":                                       "400 parameter \\\"at\\\" is unknown",
		"metadata?pv=A&points=1":                                  "400 parameter \\\"points\\\" is unknown",
		"samples?align=1s":                                        "400 parameter pv",
		"samples?pv=A&where=B+%3E":                                "400 parameter where: at character 4, after \\\"B \\u003e\\\"",
		"samples?pv=A&where=":                                     "400 a condition is required",
		"samples?pv=NONE&where=B+%3E+1":                           "404 NONE",
		"intervals?where=BB+%3E+1":                                "400 parameter where: at character 1: unknown PV BB; similar names are B",
		"intervals?where=W+%3E+1&to=2026-01-01T00:00:00Z":         "400 which cannot be compared",
		"intervals?where=B+%3E+1&pv=A":                            "400 parameter \\\"pv\\\" is unknown",
		"snapshot":                                                "400 parameter pv",
		"snapshot?group=lab/none":                                 "400 no group \\\"lab/none\\\" captures PVs",
		"snapshot?pv=A&at=x":                                      "400 parameter at",
		"metadata?pv=A&pv=NONE":                                   "404 NONE",
	} {
		code, got := r.get("/api/v1/" + path)
		if got = fmt.Sprint(code, " ", got); !strings.HasPrefix(got, want[:4]) || !strings.Contains(got, want[4:]) {
			t.Errorf("%s returns %s, want %s", path, got, want)
		}
	}
}

// TestMetadataOfOnePVHasNoList checks that a request for one PV keeps the form of its answer.
func TestMetadataOfOnePVHasNoList(t *testing.T) {
	r := analysis(t)
	if code, got := r.get("/api/v1/metadata?pv=A" + analysisSpan); code != 200 || !strings.HasPrefix(got, `{"pv":"A","history":[`) || slices.Contains(strings.Split(got, `"`), "pvs") {
		t.Errorf("the metadata are %d %s", code, got)
	}
}

// TestDamagedBlocksAreUnknownInAnalysis checks that nothing is held, interpolated or true where the
// samples of a damaged block are missing.
func TestDamagedBlocksAreUnknownInAnalysis(t *testing.T) {
	r := newRig(t)
	begin := newYear - 180*second
	r.addChannel("X", sample.Float64, begin)
	for minute := range int64(3) { // ten samples at the beginning of each
		run := ramp(begin+minute*60*second, 10)
		blob := block.AppendStored(nil, run)
		if minute == 1 {
			blob[len(blob)/2] ^= 4
		}
		r.check(r.store.PutBlocks(t.Context(), store.Block{
			BlockKey: store.BlockKey{PV: "X", Bucket: store.Year.Of(run.Times[0]), Start: run.Times[0], Writer: store.WriterID{1}, N: uint32(minute + 1)},
			End:      run.Times[run.Len()-1], Count: run.Len(), Type: run.Type, Blob: blob,
		}))
	}
	span := "&from=2025-12-31T23:57:00Z&to=2025-12-31T23:59:59Z"
	for fill, nulls := range map[string]int{"last": 12, "linear": 22 + 10} { // rows each 5 s; 10 follow the last sample
		res, got, err := r.do("GET", "/api/v1/samples?pv=X&align=5s&fill="+fill+span, "")
		r.check(err)
		if n := strings.Count(got, ",null]"); n != nulls || res.Header.Get("Varve-Lost-Samples") != "10" {
			t.Errorf("%s: %d rows have no value, %s samples are lost: %s", fill, n, res.Header.Get("Varve-Lost-Samples"), got)
		}
	}
	res, got, err := r.do("GET", "/api/v1/intervals?where=X+%3E+4"+span, "")
	r.check(err)
	want := `"intervals":[
{"from":"2025-12-31T23:57:05Z","to":"2025-12-31T23:58:00Z","state":"true"},
{"from":"2025-12-31T23:58:00Z","to":"2025-12-31T23:59:00Z","state":"unknown"},
{"from":"2025-12-31T23:59:05Z","to":"2025-12-31T23:59:59Z","state":"true"}]`
	if res.Header.Get("Varve-Lost-Samples") != "10" || !strings.Contains(got, want) {
		t.Errorf("the intervals are %s", got)
	}
}
