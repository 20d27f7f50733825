package csvfile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/sample"
)

// sink notes what it receives, as text.
type sink struct{ got, marks, problems, notes, labels []string }

func (s *sink) Samples(_ context.Context, run *sample.Run) error {
	for i := range run.Len() {
		v := run.At(i)
		value := fmt.Sprint(v.Word)
		switch {
		case !run.Type.Fixed():
			value = fmt.Sprintf("%q", v.Bytes)
		case run.Type.Numeric():
			value = fmt.Sprint(run.Float(i))
		}
		at := time.Unix(0, v.Time).UTC().Format("2006-01-02T15:04:05.999999999")
		s.got = append(s.got, fmt.Sprintf("%s %v %s %d %s", at, run.Type, value, v.Tag.Severity(), v.Tag.StatusName()))
	}
	run.Reset(run.Type)
	return nil
}

func (s *sink) Mark(m sample.Mark) {
	s.marks = append(s.marks, fmt.Sprintf("%s %v", time.Unix(0, m.Time).UTC().Format("15:04:05"), m.Kind))
}
func (s *sink) Metadata(m *sample.Metadata) { s.labels = m.Labels }
func (s *sink) Problem(place string, _ int64, err error) {
	s.problems = append(s.problems, filepath.Base(place)+": "+err.Error())
}
func (s *sink) Note(text string)    { s.notes = append(s.notes, text) }
func (s *sink) Progress(int, int64) {}

// write writes a file, compressed if its name ends with .gz.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	if b.WriteString(text); strings.HasSuffix(name, ".gz") {
		b.Reset()
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b.Bytes(), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

// numbers is the format of most tests.
var numbers = Format{Separator: ',', Type: sample.Float64}

func open(t *testing.T, path string, f Format) *Source {
	t.Helper()
	s, err := Open(t.Context(), path, Options{Format: f})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, s *Source, pv string) *sink {
	t.Helper()
	var to sink
	if err := s.Read(t.Context(), pv, 0, 0, &to); err != nil {
		t.Fatal(err)
	}
	return &to
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestReadsAPVPerFile has all forms of values, alarms and times, and rows that cannot be read.
func TestReadsAPVPerFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "A%3AB.csv", "\ufeff# a comment\r\ntime,type,value,severity,status\r\n"+
		"2024-03-01T12:00:00.123456789Z,,1,,\r\n"+ // an empty type
		"2024-03-01 13:00:00+01:00,float64,1.5,MAJOR,HIHI\n"+
		"2024-03-01T12:00:01Z,float32,0.1,minor,4\n"+
		"2024-03-01T12:00:02Z,int32,-7,3,udf\n"+
		"2024-03-01T12:00:03Z,uint64,18446744073709551615\n"+
		"2024-03-01T12:00:04Z,enum,On\n2024-03-01T12:00:05Z,enum,7\n2024-03-01T12:00:05Z,enum,Maybe\n"+
		"2024-03-01T12:00:06Z,string,\"a \"\"b\"\", c\"\n"+
		"2024-03-01T12:00:07Z,int16[],\"[1, -2]\"\n2024-03-01T12:00:08Z,float64[],[NaN  2]\n2024-03-01T12:00:08Z,uint8[],[]\n"+
		"2024-03-01T12:00:09Z,string[],\"[\"\"a\"\",\"\"\"\"]\"\n"+
		"2024-03-01T12:00:10Z,float64,,Disconnected,\n2024-03-01T12:00:11Z,float64,,,Archive_Off\n2024-03-01T12:00:12Z,float64,,,\n"+
		"2024-03-01T12:00:13Z,string,\n"+
		"2024-03-01T12:00:14Z,int8,128\n2024-03-01T12:00:14,float64,1\n1709294400,float64,1\n1969-01-01T00:00:00Z,float64,1\n"+
		"2024-03-01T12:00:15Z,float64,1,HIGH,\n2024-03-01T12:00:15Z,float64,1,,BURNING\n2024-03-01T12:00:15Z,string,\"open\n"+
		"2024-03-01T12:00:16Z,float64\n2024-03-01T12:00:16Z,float64,1,,,,2\n2024-03-01T12:00:17Z,float64,0x1p-2\n2024-03-01T12:00:18Z,float64,12")
	f := numbers
	f.Labels = []string{"Off", "On"}
	s := open(t, dir, f)
	if got := s.PVs(); !slices.Equal(got, []string{"A:B"}) || len(s.Skipped) > 0 {
		t.Fatalf("the PVs are %q, skipped %+v", got, s.Skipped)
	}
	to := read(t, s, "A:B")
	slices.Sort(to.got)
	expect(t, "samples", to.got, []string{
		"2024-03-01T12:00:00 float64 1.5 2 HIHI", "2024-03-01T12:00:01 float32 0.10000000149011612 1 HIGH", "2024-03-01T12:00:02 int32 -7 3 UDF",
		"2024-03-01T12:00:03 uint64 1.8446744073709552e+19 0 NO_ALARM", "2024-03-01T12:00:04 enum 1 0 NO_ALARM", "2024-03-01T12:00:05 enum 7 0 NO_ALARM",
		`2024-03-01T12:00:06 string "a \"b\", c" 0 NO_ALARM`, `2024-03-01T12:00:07 int16[] "\x01\x00\xfe\xff" 0 NO_ALARM`,
		`2024-03-01T12:00:08 float64[] "\x01\x00\x00\x00\x00\x00\xf8\x7f\x00\x00\x00\x00\x00\x00\x00@" 0 NO_ALARM`, `2024-03-01T12:00:08 uint8[] "" 0 NO_ALARM`,
		`2024-03-01T12:00:09 string[] "\x01a\x00" 0 NO_ALARM`, `2024-03-01T12:00:13 string "" 0 NO_ALARM`, "2024-03-01T12:00:17 float64 0.25 0 NO_ALARM",
	})
	expect(t, "marks", to.marks, []string{"12:00:10 disconnected", "12:00:11 stopped", "12:00:13 connected"})
	expect(t, "labels", to.labels, f.Labels)
	for i, want := range []string{
		":3: \"\" is not a type", ":10: the state \"Maybe\"", ":18: the row has no value", ":20: the value \"128\" is too large", ":21: the time \"2024-03-01T12:00:14\" is not",
		":22: the time \"1709294400\" is not of the form", ":23: the time is not between 1970", ":24: the severity \"HIGH\"", ":25: the status \"BURNING\"", ":26: a quoted cell",
		":27: the row has 2 cells", ":28: the row has 7 cells, more", ":30: the last line has no end",
	} {
		if i >= len(to.problems) || !strings.Contains(to.problems[i], want) {
			t.Errorf("problem %d is not %q; all are:\n%s", i, want, strings.Join(to.problems, "\n"))
			break
		}
	}
	if len(to.problems) != 13 {
		t.Errorf("there are %d problems:\n%s", len(to.problems), strings.Join(to.problems, "\n"))
	}
}

// TestReadsAColumnOfPVs has sorted and mixed rows, compressed and not.
func TestReadsAColumnOfPVs(t *testing.T) {
	const mixed = "name,t,v\nA:B,1.5,1\nA:C,1.5,10\nA:B.VAL,0.5,2\n,1,1\n\"A\"x,1,1\nA:C,2.5,oops\nca://A:B,3,3\n"
	f := numbers
	f.Time, f.Columns = Seconds, map[string]string{"pv": "name", "time": "t", "value": "v"}
	for _, name := range []string{"all.csv", "all.csv.gz"} {
		dir := t.TempDir()
		write(t, dir, name, mixed)
		write(t, dir, "more.txt", "t,name,v\n9,A:C,11\n")
		s := open(t, dir, f)
		if got := s.PVs(); !slices.Equal(got, []string{"A:B", "A:C"}) {
			t.Errorf("the PVs are %q", got)
		}
		if len(s.Skipped) != 1 || !strings.HasSuffix(s.Skipped[0].Path, name+":5") || !strings.Contains(s.Skipped[0].Reason, "the name is empty; 1 more rows") {
			t.Errorf("skipped are %+v", s.Skipped)
		}
		to := read(t, s, "A:B")
		expect(t, "A:B", to.got, []string{"1970-01-01T00:00:01.5 float64 1 0 NO_ALARM", "1970-01-01T00:00:00.5 float64 2 0 NO_ALARM", "1970-01-01T00:00:03 float64 3 0 NO_ALARM"})
		expect(t, "problems of A:B", to.problems, nil)
		to = read(t, s, "A:C")
		expect(t, "A:C", to.got, []string{"1970-01-01T00:00:01.5 float64 10 0 NO_ALARM", "1970-01-01T00:00:09 float64 11 0 NO_ALARM"})
		expect(t, "problems of A:C", to.problems, []string{name + `:7: the value "oops" is not of the type float64`})
	}
}

// TestReadsTheExportOfTheChannelArchiver reads what ArchiveExport of the Channel Archiver writes for a channel, and for one
// with an array, which is refused.
func TestReadsTheExportOfTheChannelArchiver(t *testing.T) {
	zone, err := time.LoadLocation("America/Denver")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "fred.txt", "# Generated by ArchiveExport 2.14\n# Method: Raw Data\n\n# Time                       \tfred [furlong]\t\n"+
		"03/23/2004 10:47:44.853429000\t-6.024\t\n03/23/2004 10:48:12.931404000\t#N/A\tDisconnected\n03/23/2004 10:48:46.000000001\t-6.1\tMINOR LOW\n"+
		"03/23/2004 11:48:46.000000000\t-6.1\tRepeat 120\n10/31/2004 01:30:00.000000000\t1\t\n03/23/2004 12:00:00.000000000\t1\t2\t3\t\n"+
		"03/23/2004 12:00:00.000000000\t#N/A\t<no data>\n")
	to := read(t, open(t, dir, ChannelArchiver(zone, sample.Float64, nil)), "fred")
	expect(t, "samples", to.got, []string{"2004-03-23T17:47:44.853429 float64 -6.024 0 NO_ALARM", "2004-03-23T17:48:46.000000001 float64 -6.1 1 LOW"})
	expect(t, "marks", to.marks, []string{"17:48:12 disconnected", "17:48:46 connected"})
	if len(to.problems) != 3 || !strings.Contains(to.problems[0], "shown twice") || !strings.Contains(to.problems[1], "5 cells") ||
		!strings.Contains(to.problems[2], "no value") {
		t.Errorf("the problems are %q", to.problems)
	}
	if len(to.notes) != 1 {
		t.Errorf("the notes are %q", to.notes)
	}
}

// TestValuesAfterAState reads values after rows with states. Without a mark that the PV is connected again, readers would take all
// these values as unknown.
func TestValuesAfterAState(t *testing.T) {
	f := numbers
	f.Time = Seconds
	const head = "time,value,severity\n"
	line := func(at int) string { return fmt.Sprintf("%d,1,\n", at) }
	off := func(at int) string { return fmt.Sprintf("%d,,Disconnected\n", at) }
	rows := func(from, to int) (text string) {
		var b strings.Builder
		for at := from; at != to; at += max(-1, min(1, to-from)) {
			b.WriteString(line(at))
		}
		return b.String()
	}
	const many = migration.Batch
	stamp := func(at int) string { return time.Unix(int64(at), 0).UTC().Format("15:04:05") }
	for name, c := range map[string]struct{ text, want string }{
		"in order":               {line(1) + off(2) + line(5) + line(6), "00:00:02 disconnected, 00:00:05 connected"},
		"backwards":              {line(6) + line(5) + off(2) + line(1), "00:00:02 disconnected, 00:00:05 connected"},
		"two states":             {line(1) + off(2) + off(3) + line(5) + off(7), "00:00:02 disconnected, 00:00:03 disconnected, 00:00:05 connected, 00:00:07 disconnected"},
		"two times":              {line(1) + off(2) + line(3) + off(4) + line(5), "00:00:02 disconnected, 00:00:03 connected, 00:00:04 disconnected, 00:00:05 connected"},
		"at the end of a batch":  {rows(0, many-1) + off(many) + rows(many+5, many+9), stamp(many) + " disconnected, " + stamp(many+5) + " connected"},
		"backwards, two batches": {rows(many+9, 9) + off(7) + rows(5, 0), "00:00:07 disconnected, 00:00:10 connected"},
		"nothing follows":        {rows(0, many) + off(many), stamp(many) + " disconnected"},
	} {
		dir := t.TempDir()
		write(t, dir, "A.csv", head+c.text)
		to := read(t, open(t, dir, f), "A")
		slices.Sort(to.marks)
		expect(t, name, to.marks, strings.Split(c.want, ", "))
		if len(to.problems) > 0 {
			t.Errorf("%s: problems %q", name, to.problems)
		}
	}
}

// TestRefusesWholeFiles names the reason for each file.
func TestRefusesWholeFiles(t *testing.T) {
	dir := t.TempDir()
	row := "2024-03-01T12:00:00Z,1\n"
	write(t, dir, "A%3AB.csv", "time,value,unit\n"+row)
	write(t, dir, "A%3AC.csv", "time,time,value\n"+row)
	write(t, dir, "A%3AD.csv", "time,severity\n"+row)
	write(t, dir, "A%3AE.csv", "")
	write(t, dir, "A B.csv", "time,value\n"+row)
	write(t, dir, "data.parquet", "")
	cut := write(t, dir, "A%3AF.csv.gz", "time,value\n"+strings.Repeat(row, 9))
	if err := os.Truncate(cut, 30); err != nil {
		t.Fatal(err)
	}
	var mixed strings.Builder
	mixed.WriteString("pv,time,value\n")
	for range 1000 {
		for i := range 100 {
			fmt.Fprintf(&mixed, "P%d,2024-03-01T12:00:00Z,1\n", i)
		}
	}
	write(t, dir, "mixed.csv", mixed.String())
	s := open(t, dir, numbers)
	if got := s.PVs(); len(got) > 0 {
		t.Errorf("the PVs are %q", got)
	}
	for name, want := range map[string]string{
		"A%3AB.csv": `the column "unit"`, "A%3AC.csv": "column time twice", "A%3AD.csv": "no column for the value", "A%3AE.csv": "empty", "A B.csv": "space",
		"data.parquet": "does not end with .csv", "A%3AF.csv.gz": "cannot be read to its end", "mixed.csv": "mixed",
	} {
		if !slices.ContainsFunc(s.Skipped, func(k migration.Skipped) bool {
			return filepath.Base(k.Path) == name && strings.Contains(k.Reason, want)
		}) {
			t.Errorf("%s is not skipped because of %q: %+v", name, want, s.Skipped)
		}
	}
	f := numbers
	f.Ignore = []string{"unit"}
	if got := open(t, filepath.Join(dir, "A%3AB.csv"), f).PVs(); !slices.Equal(got, []string{"A:B"}) {
		t.Errorf("without the column unit, the PVs are %q", got)
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]int64{"1.000000001": 1e9 + 1, "1": 1e9, "1.50": 15e8, "0.0000000010000": 1, "1.0000000001": -1, "-1": -1, "1e9": -1, "": -1, ".5": -1, "99999999999": -1, "1.": 1e9} {
		got, err := parseCount(text, 9)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
	if _, err := parseCount("1709294400000000000.5", 0); err == nil {
		t.Error("half a nanosecond is a time")
	}
}

// TestLongLinesAreSkipped also checks that the next line is read.
func TestLongLinesAreSkipped(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "A.csv", "time,value\n2024-03-01T12:00:00Z,"+strings.Repeat("1", MaxLine)+"\n2024-03-01T12:00:01Z,2\n")
	to := read(t, open(t, dir, numbers), "A")
	expect(t, "samples", to.got, []string{"2024-03-01T12:00:01 float64 2 0 NO_ALARM"})
	expect(t, "problems", to.problems, []string{"A.csv:2: the line has more than 16 MiB"})
}

// FuzzRows checks that no text makes the reader fail in another way than by an error, and that values stay within bounds.
func FuzzRows(f *testing.F) {
	for _, text := range []string{"2024-03-01T12:00:00Z,float64,1,MINOR,HIGH\n", "1,int16[],\"[1, 2]\"\n", "\"", "a,\"b\"\"\",c\r\n# x\n\n", "2024-03-01T12:00:00Z,string[],\"[\"\"a\"\"]\"\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		l := newLines(bytes.NewReader(file))
		columns, err := numbers.ofHeader([][]byte{[]byte("time"), []byte("type"), []byte("value"), []byte("severity"), []byte("status")})
		if err != nil {
			t.Fatal(err)
		}
		for {
			line, err := l.next()
			if l.offset > int64(len(file)) {
				t.Fatalf("the offset %d is behind the end", l.offset)
			}
			if err != nil {
				break
			}
			cells, err := split(nil, line, ',')
			if err != nil {
				continue
			}
			r, err := numbers.parseRow(&columns, cells)
			if err != nil || r.state {
				continue
			}
			if !r.t.Valid() || len(r.s.Bytes) > maxValue || r.s.Time < 0 {
				t.Errorf("%q is %+v", line, r)
			}
			run := &sample.Run{Type: r.t}
			run.Append(&r.s)
		}
	})
}

// TestManyCellsAreRefused splits a line of 16 MiB that has only separators. Its cells would take hundreds of MiB.
func TestManyCellsAreRefused(t *testing.T) {
	cells, err := split(nil, bytes.Repeat([]byte(","), MaxLine-1), ',')
	if !errors.Is(err, errCells) || cap(cells) > 4*maxColumns {
		t.Errorf("%d cells, %v", len(cells), err)
	}
	if cells, err := split(nil, bytes.Repeat([]byte(","), maxColumns-1), ','); err != nil || len(cells) != maxColumns {
		t.Errorf("%d cells, %v", len(cells), err)
	}
}
