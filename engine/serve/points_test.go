package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"varve.dev/varve/engine/sample"
)

// point is a point that a client decodes.
type point struct {
	Time                             string
	Count                            int
	Severity                         string
	Covered                          float64
	Min, Max, Mean, Std, First, Last any
	States                           map[string]float64
}

func (r *rig) points(query string) (width float64, points []point) {
	r.t.Helper()
	code, text := r.get("/api/v1/samples?" + query)
	var got struct {
		Width  float64
		Points []point
		Runs   any
		Marks  []any
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 200 || got.Marks == nil || got.Runs != nil {
		r.t.Fatalf("the query %s returns %d %v\n%s", query, code, err, text)
	}
	return got.Width, got.Points
}

// TestPoints checks that points are bins of one width. The mean weighs each value by the time
// for which the PV held it. The first point includes the value that the PV held before the
// range.
func TestPoints(t *testing.T) {
	r := newRig(t)
	run := &sample.Run{Type: sample.Float64}
	for _, s := range []struct {
		at, v float64
		sev   sample.Severity
	}{{-100, 4, 0}, {5, 8, sample.Minor}, {6, 2, sample.Major}, {21, 3, 0}, {39, math.NaN(), sample.Invalid}} {
		run.Append(&sample.Sample{Time: newYear + int64(s.at*1e9), Tag: sample.MakeTag(s.sev, 0), Word: math.Float64bits(s.v)})
	}
	r.put("X", run, 1)
	const span = "&from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:40Z"
	width, got := r.points("pv=X&points=4" + span)
	if len(got) != 3 || width != 10 {
		t.Fatalf("got %d points of %v s: %v", len(got), width, got)
	}
	near := func(v any, want float64) bool { f, ok := v.(float64); return ok && math.Abs(f-want) < 1e-4 }
	// The PV held 4 for 5 s, 8 for 1 s and 2 for 4 s.
	if p := got[0]; p.Count != 2 || p.Severity != "MAJOR" || p.Covered != 1 || !near(p.Mean, 3.6) || !near(p.Min, 2) || !near(p.Max, 8) || !near(p.First, 8) || !near(p.Last, 2) {
		t.Errorf("the first point is %+v", p)
	}
	if p := got[1]; p.Time != "2026-01-01T00:00:20Z" || p.Count != 1 || p.Severity != "MAJOR" || !near(p.Mean, 2.9) || !near(p.Min, 2) {
		t.Errorf("the second point is %+v", p)
	}
	if p := got[2]; p.Count != 1 || p.Severity != "INVALID" || p.Covered != 0.9 || !near(p.Mean, 3) || p.Last != "NaN" {
		t.Errorf("the third point is %+v", p)
	}

	// There are no samples, only the held value.
	_, got = r.points("pv=X&points=1&from=2026-01-01T00:00:10Z&to=2026-01-01T00:00:15Z")
	if len(got) != 1 || got[0].Count != 0 || !near(got[0].Mean, 2) || got[0].Severity != "MAJOR" || got[0].Time != "2026-01-01T00:00:10Z" {
		t.Errorf("the points of a held value are %+v", got)
	}
	if _, got = r.points("pv=X&points=2&from=2025-01-01T00:00:10Z&to=2025-01-01T00:00:20Z"); len(got) != 0 {
		t.Errorf("the points before the first sample are %+v", got)
	}
}

// TestPointsStayWithinTheRequestedNumber checks that an answer has at most one point more than
// requested, and that its points count every sample once.
func TestPointsStayWithinTheRequestedNumber(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear, 4000), 1)
	for _, n := range []int{1, 2, 7, 100, 999, 100000} {
		width, got := r.points(fmt.Sprintf("pv=X&points=%d&from=2026-01-01T00:00:00Z&to=2026-01-01T01:06:39Z", n))
		total := 0
		for _, p := range got {
			total += p.Count
		}
		if len(got) > n+1 || total < 4000 && n > 1 || width < 3999/float64(n) || width > 3999/float64(n)+1e-6 {
			t.Errorf("%d points of %v s have %[4]d samples; %[3]d points were requested", len(got), width, n, total)
		}
	}
}

// TestPointsOfOtherTypes checks that points of an enumeration have the time in each state, and
// that points of strings have the last value.
func TestPointsOfOtherTypes(t *testing.T) {
	r := newRig(t)
	enum := &sample.Run{Type: sample.Enum}
	text := &sample.Run{Type: sample.String}
	for i, v := range []uint64{0, 2, 0} {
		enum.Append(&sample.Sample{Time: newYear + int64(i)*3*second, Word: v})
		text.Append(&sample.Sample{Time: newYear + int64(i)*3*second, Bytes: fmt.Append(nil, "text ", v+uint64(i))})
	}
	r.put("E", enum, 1)
	r.put("T", text, 1)
	const span = "&points=1&from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:10Z"
	_, got := r.points("pv=E" + span)
	if p := got[0]; p.Count != 3 || p.States["0"] != 7 || p.States["2"] != 3 || p.First != 0.0 || p.Last != 0.0 || p.Min != nil {
		t.Errorf("the point of an enumeration is %+v", p)
	}
	_, got = r.points("pv=T" + span)
	if p := got[0]; p.Count != 3 || p.Last != "text 2" || p.Covered != 1 {
		t.Errorf("the point of a string is %+v", p)
	}
}

func TestErrorsOfPointsSayWhatIsWrong(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear, 4), 1)
	for query, want := range map[string]int{"pv=X&points=0": 400, "pv=X&points=x": 400, "pv=X&points=100001": 400, "pv=NO&points=5": 404} {
		if code, got := r.get("/api/v1/samples?" + query); code != want || want == 400 && !strings.Contains(got, `"error":"parameter points: `) {
			t.Errorf("the query %s returns %d %s", query, code, got)
		}
	}
}
