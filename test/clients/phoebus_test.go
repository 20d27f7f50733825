package clients

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve.dev/varve/engine/sample"
)

// phoebusItem has the fields of an item that Phoebus's reader knows. It refuses all others.
type phoebusItem struct {
	Time     *json.Number
	Severity *struct {
		Level    *string
		HasValue *bool
	}
	Status, Quality, Type *string
	Value                 []any
	Minimum, Maximum      any
	MetaData              *struct {
		Type, Units                                                     *string
		Precision                                                       *int
		States                                                          []string
		DisplayLow, DisplayHigh, WarnLow, WarnHigh, AlarmLow, AlarmHigh any
	}
}

// check applies the rules of Phoebus's reader (JsonVTypeReader of app/databrowser-json).
func (it *phoebusItem) check(t *testing.T) {
	t.Helper()
	m := it.MetaData
	switch {
	case it.Time == nil || it.Severity == nil || it.Severity.Level == nil || it.Severity.HasValue == nil ||
		it.Status == nil || it.Quality == nil || it.Type == nil || it.Value == nil:
		t.Errorf("a field is missing in %+v", it)
	case !slices.Contains([]string{"double", "enum", "long", "minMaxDouble", "string"}, *it.Type):
		t.Errorf("the type is %s", *it.Type)
	case *it.Type == "string" && m != nil, *it.Type == "enum" && (m == nil || m.States == nil || m.Units != nil):
		t.Errorf("the metadata of type %s is %+v", *it.Type, m)
	case *it.Type != "enum" && m != nil && (m.Units == nil || m.Precision == nil || m.DisplayLow == nil || m.DisplayHigh == nil ||
		m.WarnLow == nil || m.WarnHigh == nil || m.AlarmLow == nil || m.AlarmHigh == nil):
		t.Errorf("the metadata %+v lacks a field", m)
	case (*it.Type == "minMaxDouble") != (it.Minimum != nil && it.Maximum != nil):
		t.Errorf("minimum and maximum of type %s are %v and %v", *it.Type, it.Minimum, it.Maximum)
	}
}

// phoebusGet sends a request as Phoebus's reader does, and decodes the answer strictly.
func phoebusGet(t *testing.T, address string, result any) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip, deflate")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body := io.Reader(res.Body)
	switch encoding := res.Header.Get("Content-Encoding"); encoding {
	case "":
	case "gzip":
		if body, err = gzip.NewReader(body); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("GET %s is encoded as %s", address, encoding)
	}
	text, err := io.ReadAll(body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s returns %s %s: %v", address, res.Status, text, err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(result); err != nil {
		t.Fatalf("GET %s returns %s: %v", address, text, err)
	}
	return string(text)
}

// TestPhoebusReadsJSONAccess sends the requests that the source of Phoebus's JSON reader sends
// for json:http://…/archive-access/api/1.0;key=1, and applies its rules to the answers. It does not
// run Phoebus, because no repository of Java libraries has that reader.
func TestPhoebusReadsJSONAccess(t *testing.T) {
	pvs := newPVs()
	base := server(t, pvs).String() + "/archive-access/api/1.0/archive"
	var archives []struct {
		Key               *int
		Name, Description *string
	}
	phoebusGet(t, base+"/", &archives)
	if len(archives) != 1 || *archives[0].Key != 1 || archives[0].Name == nil || archives[0].Description == nil {
		t.Fatalf("the archives are %+v", archives)
	}
	var names []string
	phoebusGet(t, base+"/1/channels-by-pattern/"+url.QueryEscape("t:*S"), &names)
	if len(names) != len(pvs) || !slices.IsSorted(names) {
		t.Errorf("the names are %v", names)
	}
	span := "?start=" + strconv.FormatInt(newYear-1e9, 10) + "&end=" + strconv.FormatInt(newYear+1e10, 10)
	for i := range pvs {
		p := &pvs[i]
		for _, count := range []string{"", "&count=800"} {
			var items []phoebusItem
			text := phoebusGet(t, base+"/1/samples/"+url.QueryEscape(p.name)+span+count, &items)
			if strings.Index(text, `"type":"`) > strings.Index(text, `"value":`) {
				t.Errorf("the value comes before the type in %s", text)
			}
			if len(items) != len(p.values) {
				t.Fatalf("%s has %d samples, want %d", p.name, len(items), len(p.values))
			}
			for k := range items {
				items[k].check(t)
				want, ok := p.values[k].([]any)
				if !ok {
					want = []any{p.values[k]}
				}
				if items[k].Time.String() != strconv.FormatInt(p.run.Times[k], 10) || !slices.EqualFunc(want, items[k].Value, phoebusEqual) {
					t.Errorf("%s: sample %d is %v %v, want %d %v", p.name, k, items[k].Time, items[k].Value, p.run.Times[k], want)
				}
			}
		}
	}
}

// phoebusEqual reports whether an answer has a value that a client must read. Numbers that JSON
// does not have are texts.
func phoebusEqual(want, got any) bool {
	if text, ok := got.(string); ok {
		if number, ok := want.(float64); ok {
			parsed, err := strconv.ParseFloat(text, 64)
			return err == nil && (parsed == number || math.IsNaN(parsed) && math.IsNaN(number))
		}
	}
	return equal(want, got)
}

// TestPhoebusReadsPbraw sends the requests that the source of Phoebus's reader of pbraw: URLs sends, and counts the
// samples of the answers by the rules of pbrawclient. It runs neither, because no registry of Java libraries that
// the tests can reach has them.
func TestPhoebusReadsPbraw(t *testing.T) {
	pvs := newPVs()
	u := server(t, pvs)
	if got := fetch(t, u, "/retrieval/bpl/searchForPVsRegex?regex="+url.QueryEscape("T:S.*")); got != "T:SHORTS\n" {
		t.Errorf("the search finds %q", got)
	}
	read := func(name, pv, from, to string) int {
		t.Helper()
		q := "pv=" + url.QueryEscape(pv) + "&from=" + url.QueryEscape(from) + "&to=" + url.QueryEscape(to) + "&fetchLatestMetadata=true"
		return countSamples(t, pv, name, fetch(t, u, "/retrieval/data/getData.raw?"+q))
	}
	const from, to = "2025-12-31T23:59:50.123456789Z", "2026-01-01T00:00:10Z"
	for i := range pvs {
		p := &pvs[i]
		if n := read(p.name, p.name, to, to); n != 1 { // the first request, for metadata
			t.Errorf("%s at one time has %d samples", p.name, n)
		}
		if n := read(p.name, p.name, from, to); n != len(p.values) {
			t.Errorf("%s has %d samples, want %d", p.name, n, len(p.values))
		}
		if p.run.Type.IsArray() || p.run.Type == sample.String {
			continue
		}
		if n := read(p.name, "optimized_800("+p.name+")", from, to); n != len(p.values) {
			t.Errorf("optimized_800 of %s has %d samples, want %d", p.name, n, len(p.values))
		}
		// Older versions of the Appliance have no optimized: Phoebus then reads these.
		if n := read(p.name, "ncount("+p.name+")", from, to); n != 1 {
			t.Errorf("ncount of %s has %d samples", p.name, n)
		}
		for _, op := range []string{"mean_1", "std_1", "min_1", "max_1", "count_1"} {
			if n := read(p.name, op+"("+p.name+")", from, to); n != 12 { // bins from the first with a sample to the last
				t.Errorf("%s of %s has %d samples", op, p.name, n)
			}
		}
	}
}
