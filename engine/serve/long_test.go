package serve

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"
)

// TestSamplesAsTables reads the samples of several PVs in each format for data analysis.
func TestSamplesAsTables(t *testing.T) {
	r := analysis(t)
	read := func(format, pvs string) (*http.Response, string) {
		t.Helper()
		res, text, err := r.do(http.MethodGet, "/api/v1/samples?format="+format+pvs+analysisSpan, "")
		r.check(err)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("format %s: the answer is %d %s", format, res.StatusCode, text)
		}
		return res, text
	}

	_, text := read("csv", "&pv=A&pv=E")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	r.check(err)
	if len(rows) != 12 || fmt.Sprint(rows[0]) != "[pv time value label units severity status]" ||
		fmt.Sprint(rows[2]) != "[A 2025-12-31T23:59:51.000000000Z 1.0  mA NO_ALARM NO_ALARM]" ||
		rows[11][0] != "E" || rows[11][2] != "1.0" || rows[11][3] != "Open" {
		t.Errorf("the rows are %v", rows)
	}
	if _, text = read("csv", "&pv=S&pv=A"); !strings.Contains(text, `"a ""text"""`) {
		t.Errorf("the text is missing in %s", text)
	}

	res, text := read("arrow", "&pv=A&pv=B")
	in, err := ipc.NewReader(strings.NewReader(text))
	r.check(err)
	sum := 0.0
	for in.Next() {
		for i, v := range in.RecordBatch().Column(2).(*array.Float64).Float64Values() {
			sum += v
			if unit := in.Schema().Field(1).Type.String(); i == 0 && !strings.Contains(unit, "ns") {
				t.Errorf("times have the type %s", unit)
			}
		}
	}
	r.check(in.Err())
	if sum != 90 || res.Header.Get("Content-Type") != "application/vnd.apache.arrow.stream" {
		t.Errorf("the sum is %v, and the media type %s", sum, res.Header.Get("Content-Type"))
	}

	_, text = read("parquet", "&pv=A&pv=B")
	f, err := parquet.OpenFile(strings.NewReader(text), int64(len(text)))
	r.check(err)
	if from, ok := f.Lookup("from"); f.NumRows() != 20 || !ok || from != "2025-12-31T23:59:50Z" {
		t.Errorf("the file has %d rows, from %q", f.NumRows(), from)
	}
}

// TestSamplesOfSeveralPVs checks that the answer in JSON has each PV as alone.
func TestSamplesOfSeveralPVs(t *testing.T) {
	r := analysis(t)
	_, text := r.get("/api/v1/samples?pv=A&pv=E&pv=B" + analysisSpan)
	var several struct{ PVs []any }
	r.check(json.Unmarshal([]byte(text), &several))
	for i, pv := range []string{"A", "E", "B"} {
		_, text := r.get("/api/v1/samples?pv=" + pv + analysisSpan)
		var alone any
		r.check(json.Unmarshal([]byte(text), &alone))
		if len(several.PVs) != 3 || fmt.Sprint(several.PVs[i]) != fmt.Sprint(alone) {
			t.Errorf("%s is %v, and alone %v", pv, several.PVs, alone)
		}
	}
	if code, text := r.get("/api/v1/samples?pv=A&pv=B&points=5" + analysisSpan); code != http.StatusOK || strings.Count(text, `"points"`) != 2 {
		t.Errorf("points of two PVs: %d %s", code, text)
	}
}

// TestErrorsOfTables checks that a request that cannot be answered gets an error before the first byte.
func TestErrorsOfTables(t *testing.T) {
	r := analysis(t)
	for query, want := range map[string]string{
		"pv=A&format=parket":           `did you mean parquet`,
		"pv=A&format=csv&points=10":    `parameter points: an answer in the format csv has samples`,
		"pv=A&format=arrow&form=x":     `\"form\" is unknown; did you mean from`,
		"pv=A&formt=arrow":             `\"formt\" is unknown; did you mean format`,
		"pv=A&pv=NONE&format=csv":      `reading NONE`,
		"pv=A&pv=NONE":                 `reading NONE`,
		"format=csv":                   `parameter pv`,
		"pv=A&format=csv&from=nowhere": `parameter from`,
	} {
		code, text := r.get("/api/v1/samples?" + query)
		if code != http.StatusBadRequest && code != http.StatusNotFound || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s\nwant %s", query, code, text, want)
		}
	}
}
