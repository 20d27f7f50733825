package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// prometheusClient returns a client of Prometheus that reads the archive.
func prometheusClient(r *rig) v1.API {
	c, err := api.NewClient(api.Config{Address: r.url + "/prometheus"})
	r.check(err)
	return v1.NewAPI(c)
}

var (
	rangeStart = time.Unix(0, newYear-10*second)
	tenSteps   = v1.Range{Start: rangeStart, End: time.Unix(0, newYear), Step: time.Second}
)

// TestPrometheusClientPlotsPVs checks the points that a client of Prometheus gets for expressions: those
// of a held value, of windows, of several PVs and of constants. A and B rise by 1 each second, B from
// half a second later on; B was disconnected for 2 s.
func TestPrometheusClientPlotsPVs(t *testing.T) {
	r := analysis(t)
	c := prometheusClient(r)
	for expression, want := range map[string]string{
		`A`:                         "A: 0 1 2 3 4 5 6 7 8 9 9",
		`B{}`:                       "B: - 0 1 2 3 4 - - 7 8 9",
		`{"A"}`:                     "A: 0 1 2 3 4 5 6 7 8 9 9",
		`{__name__="A.VAL"}`:        "A: 0 1 2 3 4 5 6 7 8 9 9",
		`{__name__=~'A|E'}`:         "A: 0 1 2 3 4 5 6 7 8 9 9 E: 1 1 1 1 1 1 1 1 1 1 1",
		`avg_over_time(A[1s])`:      "A: - 0 1 2 3 4 5 6 7 8 9",
		`avg_over_time(A[2s])`:      "A: - 0 0.5 1.5 2.5 3.5 4.5 5.5 6.5 7.5 8.5",
		`max_over_time(A[3s])`:      "A: - 0 1 2 3 4 5 6 7 8 9",
		`min_over_time(A[3s])`:      "A: - 0 0 0 1 2 3 4 5 6 7",
		`count_over_time(A[2s])`:    "A: - 1 2 2 2 2 2 2 2 2 2",
		`last_over_time({"A"}[1s])`: "A: - 0 1 2 3 4 5 6 7 8 9",
		`count_over_time(S[1s])`:    "S: - - - 1 - - - - - - -",
		`1+1`:                       "{}: 2 2 2 2 2 2 2 2 2 2 2",
	} {
		v, warnings, err := c.QueryRange(t.Context(), expression, tenSteps)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s returns %v %v", expression, err, warnings)
			continue
		}
		if got := points(v.(model.Matrix)); got != want {
			t.Errorf("%s returns\n%s, want\n%s", expression, got, want)
		}
	}
	at := time.Unix(0, newYear-4*second-500e6)
	for expression, want := range map[string]string{
		`A`: "A => 5 @[1767225595.5]", `avg_over_time(A[2s])`: "A => 4 @[1767225595.5]", `1+1`: "scalar: 2 @[1767225595.5]", `E`: "E => 1 @[1767225595.5]",
	} {
		if v, _, err := c.Query(t.Context(), expression, at); err != nil || v.String() != want {
			t.Errorf("%s at a time returns %v %v, want %s", expression, v, err, want)
		}
	}
}

// points returns the points of a matrix as text: - is a time without a value.
func points(m model.Matrix) string {
	var all []string
	for _, s := range m {
		line := s.Metric.String() + ":"
		k := 0
		for i := range 11 {
			if k < len(s.Values) && s.Values[k].Timestamp.Time().Equal(rangeStart.Add(time.Duration(i)*time.Second)) {
				line += " " + s.Values[k].Value.String()
				k++
			} else {
				line += " -"
			}
		}
		if k < len(s.Values) {
			line += " and others"
		}
		all = append(all, line)
	}
	return strings.Join(all, " ")
}

// TestPrometheusClientFindsPVs checks the calls with which Grafana lists metrics and describes them.
func TestPrometheusClientFindsPVs(t *testing.T) {
	r := analysis(t)
	r.check(r.store.PutMetadata(t.Context(), store.PVMetadata{PV: "A", Time: newYear - second, Metadata: sample.Metadata{
		Units: "mA", Properties: []sample.Property{{Name: "DESC", Value: "Beam current"}},
	}}))
	c := prometheusClient(r)
	names, warnings, err := c.LabelNames(t.Context(), []string{`{__name__=~"A.*"}`}, rangeStart, time.Unix(0, newYear))
	if fmt.Sprint(names, warnings, err) != "[__name__] [] <nil>" {
		t.Errorf("the labels are %v %v %v", names, warnings, err)
	}
	for match, want := range map[string]string{"": "[A B E S W] []", `{__name__=~"A|B"}`: "[A B] []", `{__name__!~"[ABE]"}`: "[S W] []", "NONE": "[] []"} {
		var matches []string
		if match != "" {
			matches = []string{match}
		}
		values, warnings, err := c.LabelValues(t.Context(), "__name__", matches, rangeStart, time.Unix(0, newYear))
		if got := fmt.Sprint(values, warnings); got != want || err != nil {
			t.Errorf("the names for %q are %s %v, want %s", match, got, err, want)
		}
	}
	if values, warnings, err := c.LabelValues(t.Context(), "__name__", nil, rangeStart, rangeStart, v1.WithLimit(2)); fmt.Sprint(values) != "[A B]" || len(warnings) != 1 || err != nil {
		t.Errorf("two names are %v %v %v", values, warnings, err)
	}
	if values, _, err := c.LabelValues(t.Context(), "job", nil, rangeStart, rangeStart); len(values) != 0 || err != nil {
		t.Errorf("the values of another label are %v %v", values, err)
	}
	all, _, err := c.Series(t.Context(), []string{"A", `{__name__=~"E|S"}`}, rangeStart, rangeStart)
	if fmt.Sprint(all) != `[{__name__="A"} {__name__="E"} {__name__="S"}]` || err != nil {
		t.Errorf("the series are %v %v", all, err)
	}
	meta, err := c.Metadata(t.Context(), "A", "")
	if fmt.Sprint(meta) != "map[A:[{gauge Beam current mA}]]" || err != nil {
		t.Errorf("the metadata are %v %v", meta, err)
	}
	if meta, err = c.Metadata(t.Context(), "", "3"); len(meta) != 3 || err != nil {
		t.Errorf("the metadata of three PVs are %v %v", meta, err)
	}
	if b, err := c.Buildinfo(t.Context()); err != nil || b.Version == "" || b.Revision != "Varve 1.2.3" {
		t.Errorf("the build information is %v %v", b, err)
	}
}

// TestPrometheusErrors checks that an expression outside of the subset, and a request beyond a bound, is
// refused in the format of Prometheus, and that the error says what is accepted.
func TestPrometheusErrors(t *testing.T) {
	r := analysis(t)
	for query, want := range map[string]string{
		"rate(A[5m])": `400 bad_data "rate" is not supported; accepted are`, "sum(A)": "400 bad_data not supported", "A * 2": `400 bad_data unexpected "*"`,
		"A[5m]": "400 bad_data unexpected", `A{job="x"}`: `400 bad_data the label "job" is unknown`, "SR01-VA": `400 bad_data is written {"NAME"}`,
		"": "400 bad_data the expression is empty", "avg_over_time(A)": `400 bad_data "[" is expected`, "avg_over_time(A[5])": "400 bad_data is not a duration",
		`{}`: "400 bad_data needs a name", `{__name__=~"("}`: "400 bad_data missing closing", `A{__name__="B"}`: "400 bad_data one name",
		"A offset 5m": "400 bad_data unexpected", `{"A`: "400 bad_data", "avg_over_time(A[200y])": "400 bad_data longer than",
		"W": "422 execution W has values of type float64[]", "S": "422 execution type string", "avg_over_time(E[1m])": "422 execution use last_over_time",
	} {
		checkPrometheusError(r, "query?query="+url.QueryEscape(query), want)
	}
	for path, want := range map[string]string{
		"query_range?query=A&start=0&end=20000&step=1":   "400 bad_data exceeded maximum resolution of 11000 points",
		"query_range?query=A&start=5&end=4&step=1":       "400 bad_data parameter end",
		"query_range?query=A&start=x&end=4&step=1":       "400 bad_data parameter start",
		"query_range?query=A&start=0&end=4&step=0":       "400 bad_data parameter step",
		"query_range?query=A&start=0&end=4&step=1&stp=1": "400 bad_data did you mean step?",
		"query?query=A&time=1e30":                        "400 bad_data parameter time",
		"series":                                         "400 bad_data parameter match[]",
		"label/__name__/values?match[]=rate(A[5m])":      "400 bad_data parameter match[]",
		"labels?limit=-1":                                "400 bad_data parameter limit",
		"rules":                                          "404 not_found is not a call",
		"query_range?query=avg_over_time(A[59m59s])&start=0.001&end=10000.001&step=1": "400 bad_data the windows have",
	} {
		checkPrometheusError(r, path, want)
	}
	for i := range 101 {
		r.addChannel(fmt.Sprintf("MANY:%d", i), sample.Float64, newYear)
	}
	checkPrometheusError(r, "query?query="+url.QueryEscape(`{__name__=~"MANY.*"}`), "422 execution more than 100 PVs")
	_, got := r.get("/prometheus/api/v1/query?query=AB")
	if !strings.Contains(got, `"result":[]},"warnings":["unknown PV AB; similar names are A, B`) {
		t.Errorf("an unknown PV returns %s", got)
	}
}

func checkPrometheusError(r *rig, path, want string) {
	r.t.Helper()
	code, got := r.get("/prometheus/api/v1/" + path)
	var e struct{ Status, ErrorType, Error string }
	_ = json.Unmarshal([]byte(got), &e)
	if text := fmt.Sprint(code, " ", e.ErrorType); e.Status != "error" || !strings.HasPrefix(want, text) || !strings.Contains(e.Error, strings.TrimSpace(strings.TrimPrefix(want, text))) {
		r.t.Errorf("%s returns %d %s, want %s", path, code, got, want)
	}
}

// TestPrometheusPointsOfManySamples checks the points of a PV with far more samples than points.
func TestPrometheusPointsOfManySamples(t *testing.T) {
	r := newRig(t)
	for n := range int64(50) {
		run := &sample.Run{Type: sample.Float64}
		for i := n * 5000; i < (n+1)*5000; i++ { // one each millisecond
			run.Append(&sample.Sample{Time: newYear - 250*second + i*1e6, Word: math.Float64bits(float64(i))})
		}
		r.put("DENSE", run, uint32(n+1))
	}
	c := prometheusClient(r)
	span := v1.Range{Start: time.Unix(0, newYear-240*second), End: time.Unix(0, newYear), Step: 2 * time.Minute}
	for expression, want := range map[string]string{
		"DENSE": "[10000 130000 249999]", "count_over_time(DENSE[2m])": "[10000 120000 120000]", "max_over_time(DENSE[2m])": "[9999 129999 249999]",
	} {
		v, _, err := c.QueryRange(t.Context(), expression, span)
		r.check(err)
		var got []model.SampleValue
		for _, p := range v.(model.Matrix)[0].Values {
			got = append(got, p.Value)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s returns %v, want %s", expression, got, want)
		}
	}
}
