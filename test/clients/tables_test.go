package clients

import "testing"

// series is the samples of a PV as a program for data analysis reads them.
type series struct {
	Times    []int64  `json:"times"` // ns since 1970
	Values   []any    `json:"values"`
	Severity []string `json:"severity"`
	Status   []string `json:"status"`
}

// tableClients are the readers in tables.py.
var tableClients = []string{
	"JSON", "pyarrow, Arrow", "polars, Arrow", "DuckDB, Arrow", "pandas, Parquet", "polars, Parquet",
	"pyarrow, files", "pandas, files", "polars, files", "DuckDB, files", "DuckDB, saved files",
}

// TestProgramsForDataAnalysisRead checks that pandas, polars, DuckDB and pyarrow find the samples of
// each kind of PV in answers in Arrow and Parquet, and in the files of two days, which they read in
// ranges, and that JSON has the same.
func TestProgramsForDataAnalysisRead(t *testing.T) {
	pvs := newPVs()
	args := []string{"testdata/tables.py", server(t, pvs).String(), "2025-12-31T00:00:00Z", "2026-01-02T00:00:00Z"}
	for i := range pvs {
		args = append(args, pvs[i].name)
	}
	var found map[string]map[string]series
	python(t, &found, args...)
	if len(found) != len(tableClients) {
		t.Errorf("%d programs have read the archive", len(found))
	}
	for _, client := range tableClients {
		for i := range pvs {
			s := found[client][pvs[i].name]
			checkSeries(t, client+": "+pvs[i].name, &pvs[i], &s)
		}
	}
}

func checkSeries(t *testing.T, what string, p *pv, got *series) {
	t.Helper()
	if n := p.run.Len(); len(got.Times) != n || len(got.Values) != n || len(got.Severity) != n || len(got.Status) != n {
		t.Errorf("%s has %d times and %d values, want %d", what, len(got.Times), len(got.Values), n)
		return
	}
	for i, at := range p.run.Times {
		tag := p.run.Tags[i]
		if got.Times[i] != at || !equal(p.values[i], got.Values[i]) || got.Severity[i] != tag.Severity().String() || got.Status[i] != tag.StatusName() {
			t.Errorf("%s: sample %d is %d %v %s %s, want %d %v %v", what, i, got.Times[i], got.Values[i], got.Severity[i], got.Status[i], at, p.values[i], tag)
		}
	}
}
