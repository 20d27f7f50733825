package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// putMetadata stores the metadata of a PV: units, alarm limit and description from some
// seconds after the new year on.
func (r *rig) putMetadata(pv string, after int64, units string, hihi float64, desc string) {
	r.t.Helper()
	m := sample.Metadata{Units: units, Precision: 2, Type: sample.Float64, Count: 1, Host: "ioc1:5064"}
	nan := math.NaN()
	m.SetLimits([8]float64{nan, nan, nan, nan, nan, hihi, nan, nan})
	if desc != "" {
		m.Properties = []sample.Property{{Name: "DESC", Value: desc}, {Name: "HIHI", Value: "as a field"}}
	}
	r.check(r.store.PutMetadata(context.Background(), store.PVMetadata{PV: pv, Time: newYear + after*second, Metadata: m}))
}

// putChangingPV stores a PV of ten samples whose metadata changes at 3, 5 and 6 s.
func (r *rig) putChangingPV() {
	r.put("X", ramp(newYear, 10), 1)
	r.putMetadata("X", -100, "mA", 5, "the beam")
	r.putMetadata("X", 3, "mA", 6, "the beam")
	r.putMetadata("X", 4, "mA", 6, "the beam") // as seen by a second engine
	r.putMetadata("X", 5, "A", 6, "the old beam")
	r.putMetadata("X", 6, "A", math.NaN(), "the last beam")
}

func TestMetadataOverTime(t *testing.T) {
	r := newRig(t)
	r.putChangingPV()
	entry := func(since, hihi, units, desc string) string {
		return "\n" + `{"since":"` + since + `","type":"float64","count":1,"host":"ioc1:5064","units":"` + units + `","precision":2,` + hihi +
			`"properties":{"DESC":"` + desc + `","HIHI":"as a field"}}`
	}
	first := entry("2025-12-31T23:58:20Z", `"limits":{"alarmHigh":5},`, "mA", "the beam")
	second := entry("2026-01-01T00:00:03Z", `"limits":{"alarmHigh":6},`, "mA", "the beam")
	third := entry("2026-01-01T00:00:05Z", `"limits":{"alarmHigh":6},`, "A", "the old beam")
	last := entry("2026-01-01T00:00:06Z", "", "A", "the last beam")
	for query, want := range map[string][]string{
		"at=2026-01-01T00:00:02Z": {first}, "at=2020-01-01T00:00:00Z": {first}, "at=2026-01-01T00:00:03Z": {second},
		"at=2026-01-01T00:00:03.5Z": {second}, "at=2027-01-01T00:00:00Z": {last}, "": {first}, // the current time is the new year
		"from=2026-01-01T00:00:00Z":                           {first, second, third, last},
		"from=2026-01-01T00:00:03.9Z&to=2026-01-01T00:00:05Z": {second, third},
		"from=2026-01-01T00:00:05Z&to=2026-01-01T00:00:05Z":   {third},
		"from=2019-01-01T00:00:00Z&to=2026-01-01T00:00:04Z":   {first, second},
	} {
		code, got := r.get("/api/v1/metadata?pv=X.VAL&" + query)
		if want := `{"pv":"X.VAL","history":[` + strings.Join(want, ",") + "]}\n"; code != 200 || got != want || !json.Valid([]byte(got)) {
			t.Errorf("the query %s returns %d %swant\n%s", query, code, got, want)
		}
	}
	r.addChannel("NEW", sample.Unknown, 0)
	for query, want := range map[string]string{
		"pv=NEW": `200 {"pv":"NEW","history":[]}`, "pv=NO": `404 {"error":"reading NO: unknown PV"}`,
		"": `400 {"error":"parameter pv: the name of a PV is required"}`, "pv=X&at=x": `400 {"error":"parameter at: \"x\" is not a time`,
		"pv=X&at=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z": `400 {"error":"parameter at: it cannot be combined with from and to"}`,
	} {
		code, got := r.get("/api/v1/metadata?" + query)
		if got = fmt.Sprint(code, " ", got); !strings.HasPrefix(got, want) {
			t.Errorf("the query %s returns %s", query, got)
		}
	}
}

// TestSamplesCarryChangedFields checks that a sample after a change carries the new values. A
// changed limit appears once, as a number.
func TestSamplesCarryChangedFields(t *testing.T) {
	r := newRig(t)
	r.putChangingPV()
	const span = "?pv=X&from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z"
	for path, want := range map[string]map[int]string{
		"/retrieval/data/getData.json": {
			3: `{"secs":1767225603,"val":3.0,"nanos":0,"severity":0,"status":0,"fields":{"HIHI":"6.0"}}`,
			4: `{"secs":1767225604,"val":4.0,"nanos":0,"severity":0,"status":0}`,
			5: `{"secs":1767225605,"val":5.0,"nanos":0,"severity":0,"status":0,"fields":{"EGU":"A","DESC":"the old beam"}}`,
			6: `{"secs":1767225606,"val":6.0,"nanos":0,"severity":0,"status":0,"fields":{"DESC":"the last beam","HIHI":"as a field"}}`,
		},
		"/retrieval/data/getData.qw": {
			3: `{"millis":1767225603000,"val":3.0,"fields":{"HIHI":"6.0"}}`, 4: `{"millis":1767225604000,"val":4.0}`,
		},
	} {
		_, got := r.get(path + span)
		lines := strings.Split(got, "\n")
		for i, line := range want {
			if strings.TrimSuffix(lines[2+i], ",") != line {
				t.Errorf("%s: sample %d is %s, want %s", path, i, lines[2+i], line)
			}
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("GET %s returns invalid JSON:\n%s", path, got)
		}
	}
	_, got := r.get("/retrieval/data/getData.json" + span + "&fetchLatestMetadata=true")
	if want := `[{"meta":{"name":"X","EGU":"mA","PREC":"2","HIHI":"5.0","DESC":"the beam"},`; !strings.HasPrefix(got, want) {
		t.Errorf("the latest metadata is %.100s, want %s", got, want)
	}
}

func TestTypeInfo(t *testing.T) {
	r := newRig(t)
	r.putChangingPV()
	r.channels = channels{
		{PV: "V", Group: "ns/g", Provider: capture.PVA, State: capture.Connected, Sampling: "Scan 10s",
			Retention: store.Retention{Raw: store.Keep90d, Levels: [store.MaxLevels]store.Level{store.LevelOf(10*time.Second, store.Forever)}}, Type: sample.Int16.Array(),
			Count: 100, Host: "ioc2:5075", Rate: 2, Received: 30, Dropped: [sample.NumReasons]uint64{sample.Overrun: 3},
			Metadata: &sample.Metadata{Units: "counts", Properties: []sample.Property{{Name: "DESC", Value: "a \xb5 strip"}}}},
	}
	fetchObject := func(path string) (got map[string]any) {
		t.Helper()
		code, text := r.get(path)
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != 200 {
			t.Fatalf("GET %s returns %d %s: %v", path, code, text, err)
		}
		return got
	}
	for path, want := range map[string]map[string]any{
		"/mgmt/bpl/getPVTypeInfo?pv=V": {
			"pvName": "V", "DBRType": "DBR_WAVEFORM_SHORT", "scalar": "false", "elementCount": "100", "units": "counts",
			"usePVAccess": "true", "samplingMethod": "SCAN", "samplingPeriod": "10.0", "paused": "false", "hostName": "ioc2:5075",
			"archiveFields": []any{"DESC"}, "extraFields": map[string]any{"DESC": "a \uFFFD strip"}, "computedEventRate": "2.0",
			"hasReducedDataSet": "true", "dataStores": []any{"varve://raw?keep=90d", "varve://every-10s?keep=forever"},
		},
		"/mgmt/bpl/getPVTypeInfo?pv=X.VAL": { // no engine captures it now
			"pvName": "X.VAL", "DBRType": "DBR_SCALAR_DOUBLE", "scalar": "true", "elementCount": "1", "units": "mA", "precision": "2.0",
			"upperAlarmLimit": "5.0", "lowerAlarmLimit": "NaN", "paused": "true", "samplingMethod": "MONITOR", "hostName": "ioc1:5064",
			"hasReducedDataSet": "false", "dataStores": []any{},
		},
		"/retrieval/bpl/getMetadata?pv=X": {"DBRType": "DBR_SCALAR_DOUBLE", "EGU": "mA", "PREC": "2", "HIHI": "5.0", "DESC": "the beam"},
	} {
		got := fetchObject(path)
		for k, v := range want {
			if fmt.Sprint(got[k]) != fmt.Sprint(v) {
				t.Errorf("%s: %s is %v, want %v", path, k, got[k], v)
			}
		}
	}
	for k, v := range fetchObject("/retrieval/bpl/getMetadata?pv=V") {
		if _, text := v.(string); !text {
			t.Errorf("%s of the metadata is %v, which is not a string", k, v)
		}
	}
	_, got := r.get("/mgmt/bpl/getPVDetails?pv=V")
	for _, want := range []string{
		`{"name":"Extra info - DESC:","value":"a � strip","source":"mgmt"}`,
		`{"name":"Events not archived: overrun","value":"3","source":"pv"}`, `{"name":"Is this a scalar:","value":"No","source":"mgmt"}`,
		`{"name":"Samples are kept:","value":"for 90d","source":"mgmt"}`, `{"name":"Rollups, every 10s, are kept:","value":"forever","source":"mgmt"}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the details\n%s do not contain %s", got, want)
		}
	}
	for _, path := range []string{"/mgmt/bpl/getPVTypeInfo", "/mgmt/bpl/getPVDetails", "/retrieval/bpl/getMetadata"} {
		for query, want := range map[string]int{"": 400, "?pv=NO": 404} {
			if code, got := r.get(path + query); code != want {
				t.Errorf("GET %s%s returns %d %s", path, query, code, got)
			}
		}
	}
}

// TestMarkOfAnUnknownNumberOfLostSamplesHasNoCount checks that a mark for an unknown number of
// dropped updates has no count.
func TestMarkOfAnUnknownNumberOfLostSamplesHasNoCount(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear, 2), 1)
	m := sample.Mark{Time: newYear, End: newYear + second, Kind: sample.Lost, Reason: sample.Overrun, Text: "the circuit stalled"}
	r.check(r.store.PutMarks(context.Background(), store.PVMark{PV: "X", Mark: m}))
	want := `{"time":"2026-01-01T00:00:00Z","end":"2026-01-01T00:00:01Z","kind":"lost","reason":"overrun","text":"the circuit stalled"}`
	if _, got := r.get("/api/v1/marks?pv=X&from=2026-01-01T00:00:00Z"); !strings.Contains(got, want) {
		t.Errorf("the answer %s does not contain %s", got, want)
	}
}
