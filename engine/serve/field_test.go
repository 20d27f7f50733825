package serve

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/store"
)

// inTheMinute is a range that has all changes of putChangingPV but the first, which is before it.
const inTheMinute = "&from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:10Z"

// beforeNow is a range of ten seconds that ends now.
const beforeNow = "&from=2025-12-31T23:59:50Z&to=2026-01-01T00:00:00Z"

// TestFieldsReadLikePVs checks that each API reads the history of a field: its value before the range, and each
// change in it. From 6 s on, the PV has no limit HIHI.
func TestFieldsReadLikePVs(t *testing.T) {
	r := newRig(t)
	r.putChangingPV()
	r.put("B", ramp(newYear-10*second, 10), 1) // before now, which is the new year
	r.putMetadata("B", -100, "mA", 5, "")
	r.putMetadata("B", -3, "mA", 6, "")
	for path, want := range map[string][]string{
		"/retrieval/data/getData.json?pv=X.HIHI" + inTheMinute: {
			`[{"meta":{"name":"X.HIHI","EGU":"mA","PREC":"2"},`, `{"secs":1767225500,"val":5.0,"nanos":0,"severity":0,"status":0}`,
			`{"secs":1767225603,"val":6.0,"nanos":0,"severity":0,"status":0}`, `{"secs":1767225606,"val":null,"nanos":0,"severity":3,"status":17,"fields":{"EGU":"A"}}`,
		},
		"/retrieval/data/getData.csv?pv=X.HIHI" + inTheMinute:                                                {"1767225500,5.0,0,0,0\n", "1767225603,6.0,0,0,0\n"},
		"/retrieval/data/getData.json?pv=max_5(X.HIHI)&from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:04Z":    {`"val":6.0`},
		"/retrieval/data/getData.json?pv=X.EGU" + inTheMinute:                                                {`{"secs":1767225500,"val":"mA",`, `{"secs":1767225605,"val":"A",`},
		"/retrieval/data/getData.json?pv=X.DESC" + inTheMinute:                                               {`"val":"the beam"`, `"secs":1767225605,"val":"the old beam"`, `"val":"the last beam"`},
		"/retrieval/data/getDataAtTime?pv=X.HIHI&at=2026-01-01T00:00:04Z":                                    {`{"X.HIHI":{"secs":1767225603,"val":6.0,`},
		"/api/v1/samples?pv=X.HIHI" + inTheMinute:                                                            {`"type":"float64"`, `"value":5.0`, `"time":"2026-01-01T00:00:03Z","value":6.0`, `"value":"NaN","severity":"INVALID","status":"UDF"`},
		"/api/v1/samples?format=csv&pv=X&pv=X.HIHI" + inTheMinute:                                            {"X.HIHI,2026-01-01T00:00:03.000000000Z,6.0,,A,NO_ALARM,NO_ALARM"},
		"/api/v1/samples?align=1s&pv=B&pv=B.HIHI" + beforeNow:                                                {`:56.000000000Z",6.0,5.0]`, `:57.000000000Z",7.0,6.0]`},
		"/api/v1/samples?points=2&pv=X.HIHI" + inTheMinute:                                                   {`"min":5.0,"max":6.0`},
		"/api/v1/intervals?where=B.HIHI%20%3D%206" + beforeNow:                                               {`{"from":"2025-12-31T23:59:57Z","to":"2026-01-01T00:00:00Z","state":"true"}`},
		"/api/v1/snapshot?pv=X.HIHI&at=2026-01-01T00:00:04Z":                                                 {`"pv":"X.HIHI","type":"float64","time":"2026-01-01T00:00:03Z","value":6.0`, `"units":"mA"`},
		"/api/v1/statistics?pv=B.HIHI" + beforeNow:                                                           {`"min":5,"max":6,"mean":5.3`},
		"/api/v1/files?pv=X.HIHI":                                                                            {`/api/v1/files/X.HIHI/2025-12-31.parquet`, `/api/v1/files/X.HIHI/2026-01-01.parquet`},
		"/archive-access/api/1.0/archive/1/samples/X.HIHI?start=1767225600000000000&end=1767225604000000000": {`"time":1767225603000000000`, `"value":[6.0]`},
		"/prometheus/api/v1/query?query=%7B%22B.HIHI%22%7D&time=1767225598":                                  {`"__name__":"B.HIHI"`, `"6"`},
	} {
		code, got := r.get(path)
		if code != http.StatusOK {
			t.Errorf("GET %s returns %d %s", path, code, got)
		}
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("GET %s returns\n%swant\n%s", path, got, part)
			}
		}
	}
}

// TestNamesThatAreNoFields checks names that look like fields: a PV has precedence over a field of its name, and
// a name without a value in the history is unknown. Lists have no fields.
func TestNamesThatAreNoFields(t *testing.T) {
	r := newRig(t)
	r.putChangingPV()
	r.put("X.HIHI", ramp(newYear, 2), 1)
	r.addChannel("X.LOLO", sample.Unknown, 0)
	if _, got := r.get("/retrieval/data/getData.csv?pv=X.HIHI" + inTheMinute); got != "1767225600,0.0,0,0,0\n1767225601,1.0,0,0,0\n" {
		t.Errorf("the PV X.HIHI is %s", got)
	}
	if code, got := r.get("/api/v1/samples?pv=X.LOLO" + inTheMinute); code != http.StatusOK || strings.Contains(got, "value") {
		t.Errorf("a PV without samples answers %d %s", code, got)
	}
	for _, name := range []string{"X.LOPR", "X.hihi", "X.", ".HIHI", "X.HIHI.HIHI", "Y.HIHI", "X.VAL$", "X.RTYP"} {
		if code, got := r.get("/retrieval/data/getData.json?pv=" + name + inTheMinute); code != http.StatusNotFound {
			t.Errorf("%s answers %d %s", name, code, got)
		}
	}
	if _, got := r.get("/mgmt/bpl/getAllPVs"); got != `["X","X.HIHI","X.LOLO"]`+"\n" {
		t.Errorf("the PVs are %s", got)
	}
}

// TestAFieldHasTheStateOfItsPV checks that the answer about a field says why its PV has no data.
func TestAFieldHasTheStateOfItsPV(t *testing.T) {
	r := newRig(t)
	r.putChangingPV()
	for _, c := range []struct {
		state capture.Status
		want  string
	}{
		{capture.Status{PV: "X", Group: "ns/g", State: capture.Connected, HasLast: true}, ""},
		{capture.Status{PV: "X", Group: "ns/g", State: capture.Disconnected, Since: newYear, Absent: sample.Disconnected, AbsentSince: newYear, Cause: "the IOC is down"},
			`"noData":{"cause":"disconnected","since":"2026-01-01T00:00:00Z","text":"the IOC is down"}`},
	} {
		r.channels = channels{c.state}
		_, got := r.get("/api/v1/samples?pv=X.HIHI&from=-1h&to=now")
		if has := strings.Contains(got, "noData"); has != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%v: the answer is %s, want %s", c.state.State, got, c.want)
		}
	}
}

// TestAFieldIsNoChannel checks that a field has no state of its own.
func TestAFieldIsNoChannel(t *testing.T) {
	r := newRig(t)
	r.putChangingPV()
	r.channels = channels{{PV: "X", Group: "ns/g", State: capture.Connected, HasLast: true}}
	want := `{"error":"no ArchiveGroup captures X.HIHI","noData":{"cause":"not_captured","text":"it is a field of a PV, and no channel of its own"}}`
	if code, got := r.get("/api/v1/channels/X.HIHI"); code != http.StatusNotFound || got != want+"\n" {
		t.Errorf("the channel answers %d %s", code, got)
	}
}

// TestCallsAboutFields checks that the calls of the Appliance about a PV answer for a field as reads of its samples do:
// a field with a history is archived like its PV, and another one is unknown.
func TestCallsAboutFields(t *testing.T) {
	r := newRig(t)
	r.putChangingPV()
	all := sample.Metadata{Type: sample.Float64, Count: 1, Units: "mA"}
	r.channels = channels{{PV: "X", Group: "ns/g", State: capture.Connected, Since: newYear, Sampling: "Scan 2s", Rate: 7, Received: 9, Type: sample.Int32, Count: 4,
		Connects: 1, HasLast: true, Last: sample.Sample{Time: newYear}, Metadata: &all, Retention: store.Retention{Raw: store.Forever}}}
	many := strings.Repeat("NONE,", 70)
	for path, want := range map[string][]string{
		"/mgmt/bpl/getPVStatus?pv=X.HIHI":               {`"pvName":"X.HIHI","status":"Being archived"`, `"connectionState":"true"`, `"pvNameOnly":"X"`},
		"/mgmt/bpl/getPVStatus?pv=X.LOPR":               {`[{"pvName":"X.LOPR","status":"Not being archived"}]`},
		"/mgmt/bpl/getPVTypeInfo?pv=X.HIHI":             {`"pvName":"X.HIHI"`, `"DBRType":"DBR_SCALAR_DOUBLE"`, `"elementCount":"1"`, `"units":"mA"`, `"paused":"false"`, `"policyName":"ns/g"`, `"computedEventRate":"0.0"`, `"dataStores":[]`},
		"/mgmt/bpl/getPVTypeInfo?pv=X.EGU":              {`"DBRType":"DBR_SCALAR_STRING"`},
		"/mgmt/bpl/getPVDetails?pv=X.HIHI":              {`"Is this PV paused:","value":"No"`, `of the PV:","value":"X"`, `"Is this PV currently connected?","value":"yes"`},
		"/mgmt/bpl/getStoresForPV?pv=X.HIHI":            {`{}`},
		"/retrieval/bpl/getMetadata?pv=X.HIHI":          {`"DBRType":"DBR_SCALAR_DOUBLE"`, `"EGU":"mA"`},
		"/retrieval/bpl/areWeArchivingPV?pv=X.HIHI":     {`{"status":"true"}`},
		"/retrieval/bpl/areWeArchivingPV?pv=X.LOPR":     {`{"status":"false"}`},
		"/mgmt/bpl/archivedPVs?pv=X.HIHI,X,X.LOPR":      {`["X.HIHI","X"]`},
		"/mgmt/bpl/unarchivedPVs?pv=X.HIHI,X,X.LOPR":    {`["X.LOPR"]`},
		"/mgmt/bpl/archivedPVs?pv=" + many + "X.HIHI,X": {`["X.HIHI","X"]`},
	} {
		code, got := r.get(path)
		for _, part := range want {
			if code != http.StatusOK || !strings.Contains(got, part) {
				t.Errorf("%.60s answers %d %s, want %s", path, code, got, part)
			}
		}
	}
	for _, call := range []string{"getPVTypeInfo", "getPVDetails", "getStoresForPV"} {
		if code, got := r.get("/mgmt/bpl/" + call + "?pv=X.LOPR"); code != http.StatusNotFound {
			t.Errorf("%s of a field without a history answers %d %s", call, code, got)
		}
	}
	r.channels = nil // no group captures the PV any more
	if _, got := r.get("/mgmt/bpl/getPVStatus?pv=X.HIHI"); !strings.Contains(got, "Not being archived") {
		t.Errorf("the state of a field whose PV is not captured is %s", got)
	}
}

// TestNamesOfStatesAreFields checks that the names of states read like PVs. They are texts, also if they look like
// numbers. Only a PV with two states has ZNAM and ONAM.
func TestNamesOfStatesAreFields(t *testing.T) {
	r := newRig(t)
	for pv, histories := range map[string][][]string{"BI": {{"0", "Shut"}, {"0", "Closed"}}, "MBBI": {{"a", "", "c"}}} {
		r.put(pv, ramp(newYear, 10), 1)
		for i, labels := range histories {
			m := sample.Metadata{Type: sample.Enum, Count: 1, Labels: labels}
			r.check(r.store.PutMetadata(t.Context(), store.PVMetadata{PV: pv, Time: newYear + int64(3*i)*second, Metadata: m}))
		}
	}
	for name, want := range map[string]string{
		"BI.ZNAM": "1767225600,0,0,0,0\n", "BI.ONST": "1767225600,Shut,0,0,0\n1767225603,Closed,0,0,0\n", "MBBI.TWST": "1767225600,c,0,0,0\n",
	} {
		if _, got := r.get("/retrieval/data/getData.csv?pv=" + name + inTheMinute); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"BI.TWST", "MBBI.ONST", "MBBI.ZNAM", "MBBI.THST"} {
		if code, got := r.get("/retrieval/data/getData.csv?pv=" + name + inTheMinute); code != http.StatusNotFound {
			t.Errorf("%s answers %d %s", name, code, got)
		}
	}
	if _, got := r.get("/mgmt/bpl/getPVTypeInfo?pv=BI.ZNAM"); !strings.Contains(got, `"DBRType":"DBR_SCALAR_STRING"`) {
		t.Errorf("the type info of a name of a state is %s", got)
	}
}

// TestNumbersInProperties checks that a property is a number if all its values are numbers, and that it is
// undefined while the PV lacks it.
func TestNumbersInProperties(t *testing.T) {
	r := newRig(t)
	r.put("P", ramp(newYear, 10), 1)
	nan := math.NaN()
	for i, values := range [][]string{{"", "0x1"}, {"0.50", "1"}, {"0.50", "1"}, {"-2e3", "2"}, {"", "3"}, {"7", "inf"}} {
		m := sample.Metadata{Type: sample.Int32, Count: 1}
		m.SetLimits([8]float64{nan, nan, nan, nan, nan, nan, nan, nan})
		for k, name := range []string{"MDEL", "TEXT"} {
			if values[k] != "" {
				m.Properties = append(m.Properties, sample.Property{Name: name, Value: values[k]})
			}
		}
		r.check(r.store.PutMetadata(t.Context(), store.PVMetadata{PV: "P", Time: newYear + int64(i)*second, Metadata: m}))
	}
	for field, want := range map[string][]any{"MDEL": {0.5, -2000.0, nil, 7.0}, "TEXT": {"0x1", "1", "2", "3", "inf"}} {
		_, got := r.get("/retrieval/data/getData.json?pv=P." + field + inTheMinute)
		var answer []struct{ Data []struct{ Val any } }
		if err := json.Unmarshal([]byte(got), &answer); err != nil || len(answer) != 1 {
			t.Fatalf("P.%s is %s: %v", field, got, err)
		}
		var values []any
		for _, s := range answer[0].Data {
			values = append(values, s.Val)
		}
		if !slices.Equal(values, want) {
			t.Errorf("the values of P.%s are %v, want %v", field, values, want)
		}
	}
}

// TestFieldsOfHiddenPVs checks that a reader finds the fields of the PVs that it may read, and no others, not even
// in the cache of files.
func TestFieldsOfHiddenPVs(t *testing.T) {
	g := newGuarded(t, allMethods+secretRule)
	if n := g.compareHidden("SECRET:A.EGU", "NOSUCH:A.EGU"); n < 30 {
		t.Errorf("only %d answers differ for a reader who may read the field: the test compares too little", n)
	}
	const path = "/api/v1/files/SECRET:A.EGU/2026-01-01.parquet"
	if res, text := g.ask(path, "", g.ann); res.StatusCode != http.StatusOK {
		t.Fatalf("the file answers %d %s", res.StatusCode, text)
	}
	if res, text := g.ask(path, "", g.bob); res.StatusCode != http.StatusNotFound {
		t.Errorf("the file answers %d %.100s to a reader who may not read the PV", res.StatusCode, text)
	}
	if res, text := g.ask("/retrieval/data/getData.json?pv=PUBLIC:X.EGU"+inTheMinute, "", g.bob); res.StatusCode != http.StatusOK || !strings.Contains(text, `"val":"mbar"`) {
		t.Errorf("the field of a PV that the reader may read answers %d %s", res.StatusCode, text)
	}
}

// TestFieldsHiddenByName hides a field by its own name from a reader who may read its PV. A file that another reader
// has requested must not reach this reader.
func TestFieldsHiddenByName(t *testing.T) {
	g := newGuarded(t, allMethods+"readers: [{pvs: ['*.EGU'], groups: [vacuum]}]\ndefault: everybody\n")
	const path = "/api/v1/files/PUBLIC:X.EGU/2026-01-01.parquet"
	for name, c := range map[string]struct {
		token string
		want  int
	}{"ann": {g.ann, http.StatusOK}, "bob": {g.bob, http.StatusNotFound}} {
		for _, path := range []string{path, path, "/retrieval/data/getData.json?pv=PUBLIC:X.EGU" + inTheMinute} {
			if res, text := g.ask(path, "", c.token); res.StatusCode != c.want {
				t.Errorf("%s answers %d %.100s to %s, want %d", path, res.StatusCode, text, name, c.want)
			}
		}
	}
}

// TestFieldsAreNotReadThrough checks that a PV of the older archive does not hide the field of a PV of this archive, and
// that the field of a PV that only the older archive has is read from there.
func TestFieldsAreNotReadThrough(t *testing.T) {
	older := newRig(t)
	own := newRigThrough(t, older.url)
	own.putChangingPV()
	for _, pv := range []string{"X.HIHI", "OLD.HIHI"} {
		older.put(pv, ramp(newYear, 2), 1)
	}
	here := newRig(t)
	here.putChangingPV()
	for _, path := range []string{"/retrieval/data/getData.csv?pv=X.HIHI" + inTheMinute, "/retrieval/data/getData.json?pv=mean_10(X.HIHI)" + inTheMinute} {
		_, want := here.get(path)
		if code, got := own.get(path); code != http.StatusOK || got != want {
			t.Errorf("%s answers %d %s, want %s", path, code, got, want)
		}
	}
	if _, got := own.get("/retrieval/data/getData.csv?pv=OLD.HIHI" + inTheMinute); got != "1767225600,0.0,0,0,0\n1767225601,1.0,0,0,0\n" {
		t.Errorf("the older archive's PV OLD.HIHI is %s", got)
	}
}

// TestAFieldIsAsCompleteAsItsPV checks that the answer about a field says so if the engine of its PV, which may know
// a change, does not answer.
func TestAFieldIsAsCompleteAsItsPV(t *testing.T) {
	r, _ := newLaggingRig(t, map[string]int64{"LAGS": newYear + 5*second})
	for pv, want := range map[string]string{"LAGS": "2026-01-01T00:00:05Z", "WHOLE": ""} {
		r.putMetadata(pv, 0, "mA", 5, "")
		res, text, err := r.do(http.MethodGet, "/retrieval/data/getData.csv?pv="+pv+".HIHI"+inTheMinute, "")
		r.check(err)
		if got := res.Header.Get(stream.CompleteUntil); got != want || text != "1767225600,5.0,0,0,0\n" {
			t.Errorf("%s.HIHI is complete until %q, want %q: %s", pv, got, want, text)
		}
	}
}
