package serve

import (
	"bytes"
	"encoding/csv"
	"net/url"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"
)

// analysisTables are the requests whose answers are tables, and their rows as CSV.
var analysisTables = map[string]string{
	"samples?pv=A&pv=E&pv=S&align=4s" + analysisSpan: `time,A [mA],E,S
2025-12-31T23:59:52.000000000Z,2.0,1,"a ""text"""
2025-12-31T23:59:56.000000000Z,6.0,1,"a ""text"""
2026-01-01T00:00:00.000000000Z,9.0,1,"a ""text"""
`,
	"samples?pv=A&pv=E&where=" + url.QueryEscape("B > 2 and B < 4") + analysisSpan: `pv,time,value,label,units,severity,status
A,2025-12-31T23:59:54.000000000Z,4.0,,mA,NO_ALARM,NO_ALARM
`,
	"intervals?where=" + url.QueryEscape("B > 2") + analysisSpan: `from,to,state
2025-12-31T23:59:50.000000000Z,2025-12-31T23:59:50.500000000Z,unknown
2025-12-31T23:59:53.500000000Z,2025-12-31T23:59:56.000000000Z,true
2025-12-31T23:59:56.000000000Z,2025-12-31T23:59:58.000000000Z,unknown
2025-12-31T23:59:58.000000000Z,2026-01-01T00:00:00.000000000Z,true
`,
	"snapshot?pv=A&pv=E&pv=S&pv=NONE&at=2025-12-31T23:59:51.5Z": `pv,time,value,label,units,severity,status,displayLow,displayHigh,warnLow,warnHigh,alarmLow,alarmHigh,controlLow,controlHigh,noData
A,2025-12-31T23:59:51.000000000Z,1.0,,mA,NO_ALARM,NO_ALARM,,,,,,90.0,,,
E,2025-12-31T23:59:50.000000000Z,1.0,Open,,NO_ALARM,NO_ALARM,,,,,,,,,
S,,,,,,,,,,,,,,,not_captured
NONE,,,,,,,,,,,,,,,unknown_pv
`,
}

// TestAnalysisTablesInAllFormats checks that every answer that is a table has the same rows in CSV,
// Arrow and Parquet.
func TestAnalysisTablesInAllFormats(t *testing.T) {
	r := analysis(t)
	for path, want := range analysisTables {
		code, got := r.get("/api/v1/" + path + "&format=csv")
		if got = strings.ReplaceAll(got, "\r\n", "\n"); code != 200 || got != want {
			t.Errorf("%s as CSV returns %d\n%s\nwant\n%s", path, code, got, want)
		}
		header, err := csv.NewReader(strings.NewReader(want)).Read()
		r.check(err)
		rows := int64(strings.Count(want, "\n") - 1)
		_, got = r.get("/api/v1/" + path + "&format=arrow")
		stream, err := ipc.NewReader(strings.NewReader(got))
		r.check(err)
		n := int64(0)
		for stream.Next() {
			n += stream.RecordBatch().NumRows()
		}
		if stream.Err() != nil || n != rows || stream.Schema().NumFields() != len(header) {
			t.Errorf("%s as Arrow has %d rows of %d columns: %v", path, n, stream.Schema().NumFields(), stream.Err())
		}
		if name, _ := stream.Schema().Metadata().GetValue("archive"); name != "lab/main" {
			t.Errorf("%s as Arrow is of the archive %q", path, name)
		}
		stream.Release()
		_, got = r.get("/api/v1/" + path + "&format=parquet")
		f, err := parquet.OpenFile(bytes.NewReader([]byte(got)), int64(len(got)))
		r.check(err)
		name, _ := f.Lookup("archive")
		if version, _ := f.Lookup("version"); name != "lab/main" || version != "Varve 1.2.3" {
			t.Errorf("%s as Parquet is of the archive %q, written by %q", path, name, version)
		}
		if f.NumRows() != rows || len(f.Schema().Columns()) < len(header) {
			t.Errorf("%s as Parquet has %d rows of %d columns", path, f.NumRows(), len(f.Schema().Columns()))
		}
	}
}
