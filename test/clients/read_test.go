package clients

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// result is the output of read.py.
type result struct {
	PVs            map[string]*got              `json:"pvs"`
	AapyAllPVs     []string                     `json:"aapyAllPVs"`
	AapyGlob       []string                     `json:"aapyGlob"`
	AapyStatus     []map[string]string          `json:"aapyStatus"`
	AapyStatuses   []map[string]string          `json:"aapyStatuses"`
	ArchapplAllPVs []string                     `json:"archapplAllPVs"`
	ArchapplStatus map[string]map[string]string `json:"archapplStatus"`
}

// got holds the samples of one PV as each client reads them.
type got struct {
	AapyJSON  aapy    `json:"aapyJSON"`
	AapyRaw   *aapy   `json:"aapyRaw"`
	FrameJSON *frame  `json:"frameJSON"`
	FrameRaw  *frame  `json:"frameRaw"`
	Samples   samples `json:"samples"`
}

// aapy is an ArchiveData of aapy.
type aapy struct {
	Values     [][]any           `json:"values"`
	Times      []float64         `json:"times"` // s
	Severities []float64         `json:"severities"`
	Labels     map[string]string `json:"labels"`
}

// frame is a pandas.DataFrame of pyarchappl.
type frame struct {
	Values     []any     `json:"values"`
	Millis     []int64   `json:"millis"`
	Severities []float64 `json:"severities"`
	Status     []float64 `json:"status"`
}

type samples struct {
	Raw  []event           `json:"raw"`
	JSON []event           `json:"json"`
	Meta map[string]string `json:"meta"`
}

// event is a sample in the form that the response formats share.
type event struct {
	Secs     float64 `json:"secs"`
	Nanos    float64 `json:"nanos"`
	Val      any     `json:"val"`
	Severity float64 `json:"severity"`
	Status   float64 `json:"status"`
}

func (e event) time() int64 { return int64(e.Secs)*1e9 + int64(e.Nanos) }

func TestClientsRead(t *testing.T) {
	pvs := newPVs()
	var names []string
	for _, p := range pvs {
		names = append(names, p.name)
	}
	host, port := hostPort(t, server(t, pvs))
	var r result
	python(t, &r, append([]string{"testdata/read.py", host, port, "2025-12-31T00:00:00Z", "2026-01-02T00:00:00Z"}, names...)...)

	for i := range pvs {
		t.Run(pvs[i].name, func(t *testing.T) {
			g := r.PVs[pvs[i].name]
			checkEvents(t, "getData.raw", &pvs[i], g.Samples.Raw)
			checkEvents(t, "getData.json", &pvs[i], g.Samples.JSON)
			checkAapy(t, "aapy's JsonFetcher", &pvs[i], &g.AapyJSON)
			if g.AapyRaw != nil {
				checkAapy(t, "aapy's PbFetcher", &pvs[i], g.AapyRaw)
			}
			checkFrame(t, "pyarchappl, json", &pvs[i], g.FrameJSON)
			checkFrame(t, "pyarchappl, raw", &pvs[i], g.FrameRaw)
		})
	}
	t.Run("metadata", func(t *testing.T) { checkMetadata(t, &r) })
	t.Run("management", func(t *testing.T) { checkManagement(t, &r, names) })
}

// equal reports whether a client read the value want. JSON has no NaN and no infinities: a
// client may return them by name, and NaN also as None.
func equal(want, got any) bool {
	switch w := want.(type) {
	case float64:
		switch {
		case math.IsNaN(w):
			return got == nil || got == "nan"
		case math.IsInf(w, -1):
			return got == "-inf"
		}
		g, ok := got.(float64)
		return ok && g == w
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(w, g, equal)
	}
	return want == got
}

// checkEvents compares all fields of the samples, with times to the nanosecond.
func checkEvents(t *testing.T, what string, p *pv, got []event) {
	t.Helper()
	if len(got) != len(p.values) {
		t.Fatalf("%s has %d samples, want %d", what, len(got), len(p.values))
	}
	for i, e := range got {
		tag := p.run.Tags[i]
		if e.time() != p.run.Times[i] || int(e.Severity) != int(tag.Severity()) || int(e.Status) != int(tag.Status()) ||
			!equal(p.values[i], e.Val) {
			t.Errorf("%s: sample %d is %+v, want %d %v %v", what, i, e, p.run.Times[i], p.values[i], tag)
		}
	}
}

func checkAapy(t *testing.T, what string, p *pv, got *aapy) {
	t.Helper()
	if len(got.Values) != len(p.values) || len(got.Times) != len(p.values) {
		t.Fatalf("%s has %d values, want %d", what, len(got.Values), len(p.values))
	}
	for i, v := range got.Values {
		if want := p.values[i]; !equal(want, flat(want, v)) {
			t.Errorf("%s: value %d is %v, want %v", what, i, v, want)
		}
		if d := got.Times[i] - float64(p.run.Times[i])/1e9; math.Abs(d) > 1e-6 { // aapy stores the time as float64
			t.Errorf("%s: time %d is off by %v s", what, i, d)
		}
		if got.Severities[i] != float64(p.run.Tags[i].Severity()) {
			t.Errorf("%s: severity %d is %v", what, i, got.Severities[i])
		}
	}
}

// flat returns the only element of a row if want is a scalar, and the row otherwise.
func flat(want any, row []any) any {
	if _, array := want.([]any); array || len(row) != 1 {
		return row
	}
	return row[0]
}

func checkFrame(t *testing.T, what string, p *pv, got *frame) {
	t.Helper()
	if got == nil || len(got.Values) != len(p.values) {
		t.Fatalf("%s has %+v, want %d values", what, got, len(p.values))
	}
	for i, v := range got.Values {
		tag := p.run.Tags[i]
		if !equal(p.values[i], v) || got.Severities[i] != float64(tag.Severity()) || got.Status[i] != float64(tag.Status()) {
			t.Errorf("%s: sample %d is %v %v %v, want %v %v", what, i, v, got.Severities[i], got.Status[i], p.values[i], tag)
		}
		if d := got.Millis[i] - p.run.Times[i]/1e6; d < -1 || d > 1 { // pyarchappl rounds the time to float64
			t.Errorf("%s: time %d is off by %d ms", what, i, d)
		}
	}
}

func checkMetadata(t *testing.T, r *result) {
	meta := r.PVs["T:FLOATS"].Samples.Meta
	if meta["EGU"] != "°C" || meta["PREC"] != "3" || meta["name"] != "T:FLOATS" {
		t.Errorf("metadata is %v", meta)
	}
	labels := map[string]string{"0": "Closed", "1": "Open", "2": "Moving \"half\""}
	for _, got := range []map[string]string{r.PVs["T:ENUMS"].AapyJSON.Labels, r.PVs["T:ENUMS"].AapyRaw.Labels} {
		if !maps.Equal(got, labels) {
			t.Errorf("labels are %v", got)
		}
	}
}

func checkManagement(t *testing.T, r *result, names []string) {
	sorted := slices.Sorted(slices.Values(names))
	if !slices.Equal(r.AapyAllPVs, sorted) {
		t.Errorf("getAllPVs is %v", r.AapyAllPVs)
	}
	if got := strings.Join(r.AapyGlob, " "); got != "T:FLOATS" {
		t.Errorf("getAllPVs with a glob is %v", got)
	}
	if !slices.Equal(r.ArchapplAllPVs, sorted[:2]) {
		t.Errorf("getAllPVs with a limit is %v", r.ArchapplAllPVs)
	}
	if n := len(r.AapyStatuses); n != len(names)+1 || r.AapyStatuses[n-1]["status"] != "Not being archived" {
		t.Errorf("getPVStatus by POST is %v", r.AapyStatuses)
	}
	if s := fmt.Sprint(r.AapyStatus[0]["pvName"], r.AapyStatus[0]["status"]); len(r.AapyStatus) != 1 || s != names[0]+"Being archived" {
		t.Errorf("getPVStatus is %v", r.AapyStatus)
	}
	for _, name := range names {
		if s := r.ArchapplStatus[name]; s["status"] != "Being archived" || s["connectionState"] != "true" || s["isMonitored"] != "true" {
			t.Errorf("getPVStatus of %s is %v", name, s)
		}
	}
}
