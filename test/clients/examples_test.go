package clients

import (
	"math"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
)

// TestExamplesForDataAnalysisRun runs the Python examples of docs/clients/data-analysis.md as they are.
func TestExamplesForDataAnalysisRun(t *testing.T) {
	const samples = 100
	now := time.Now()
	pvs := []pv{newPV("SIM:SINE:0002", sample.Float64), newPV("SIM:RAMP:0001", sample.Float64)}
	for i := range pvs {
		for k := range int64(samples) { // within the last half an hour
			pvs[i].run.Append(&sample.Sample{Time: now.UnixNano() - (samples-k)*10e9, Word: math.Float64bits(float64(k))})
		}
	}
	// The third example reads files from this time on.
	since := time.Date(2026, 11, 25, 8, 0, 0, 0, time.UTC).UnixNano()
	late := 0
	for _, at := range pvs[0].run.Times {
		if at >= since {
			late++
		}
	}
	var got struct{ Rows []int }
	python(t, &got, "testdata/examples.py", "../../docs/clients/data-analysis.md", server(t, pvs).String())
	if want := []int{2 * samples, samples, late}; !slices.Equal(got.Rows, want) {
		t.Errorf("the examples read %v rows, want %v", got.Rows, want)
	}
}

// TestSQLForDataAnalysisRuns runs the SQL of docs/clients/data-analysis.md as it is, with DuckDB and httpfs. It reads two
// days, and has a row for each hour.
func TestSQLForDataAnalysisRuns(t *testing.T) {
	p := newPV("SIM:SINE:0002", sample.Float64)
	first := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC).UnixNano()
	for k := range int64(96) { // two an hour
		p.run.Append(&sample.Sample{Time: first + k*1800e9, Word: math.Float64bits(float64(k))})
	}
	var got struct{ Rows []int }
	pythonOf(t, "duckdb", &got, "testdata/httpfs.py", "page", "../../docs/clients/data-analysis.md", server(t, []pv{p}).String())
	if !slices.Equal(got.Rows, []int{48}) {
		t.Errorf("the queries have %v rows, want 48", got.Rows)
	}
}
