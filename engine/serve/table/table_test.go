package table

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"
)

// schema has a column of each type.
var schema = Schema{
	Columns: []Column{
		{Name: "time", Type: Time}, {Name: "SR:I", Type: Float, Unit: "mA", Nulls: true}, {Name: "count", Type: Int, Labels: []string{"Off", "say \"on\""}, Nulls: true},
		{Name: "big", Type: Uint}, {Name: "label", Type: Word, Nulls: true}, {Name: "text", Type: Text, Nulls: true},
		{Name: "=wave", Type: Floats, Nulls: true},
	},
	Notes:  []Note{{"archive", "varve"}},
	Origin: []Note{{"version", "Varve 1.2.3"}},
}

// labelsOfCount are the names of the states in the metadata of a file.
const labelsOfCount = `["Off","say \"on\""]`

const year = int64(1767225600e9) // 2026-01-01T00:00:00Z

// write writes a table of n rows of that schema. Every seventh row has only nulls.
func write(t *testing.T, f Format, out io.Writer, n int) {
	t.Helper()
	w, err := NewWriter(f, out, &schema)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		c := w.Batch.Columns
		c[0].AppendInt(year + int64(i))
		c[3].AppendInt(-1 - int64(i))
		if i%7 == 6 {
			for _, k := range []int{1, 2, 4, 5, 6} {
				c[k].AppendNull()
			}
		} else {
			c[1].AppendFloat(number(i))
			c[2].AppendInt(int64(-i))
			c[4].AppendWord(fmt.Sprintf("word %d", i/5000), 1)
			c[5].AppendText([]byte(text(i)))
			c[6].Floats = append(c[6].Floats, list(i)...)
			c[6].EndList()
		}
		if err := w.FlushFull(); err != nil {
			t.Fatal(err)
		}
		if w.Batch.Rows() >= batchRows || w.Batch.bytes() >= batchBytes {
			t.Fatalf("%d rows of %d bytes are not written", w.Batch.Rows(), w.Batch.bytes())
		}
	}
	w.Note("lost", "7")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func number(i int) float64 {
	switch i % 5 {
	case 3:
		return math.Inf(-1)
	case 4:
		return math.NaN()
	}
	return float64(i) / 3
}

func list(i int) []float64 { return []float64{1, math.NaN(), float64(i)}[:i%4%3+i%4/3] }

func text(i int) string {
	return []string{"plain", "=1+1", "two\nlines, \"quoted\"", "", "caf\u00e9 \xb0"}[i%5]
}

// row is what a reader must find in row i; it has one text for each column. Null is "-".
func row(i int) []string {
	if i%7 == 6 {
		return []string{fmt.Sprint(year + int64(i)), "-", "-", fmt.Sprint(math.MaxUint64 - uint64(i)), "-", "-", "-"}
	}
	return []string{
		fmt.Sprint(year + int64(i)), fmt.Sprint(number(i)), fmt.Sprint(-i), fmt.Sprint(math.MaxUint64 - uint64(i)),
		fmt.Sprintf("word %d", i/5000), strings.ToValidUTF8(text(i), "\ufffd"), fmt.Sprint(list(i)),
	}
}

func checkRows(t *testing.T, got [][]string, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("the table has %d rows, want %d", len(got), n)
	}
	for i := range got {
		if want := row(i); !reflect.DeepEqual(got[i], want) {
			t.Fatalf("row %d is %q, want %q", i, got[i], want)
		}
	}
}

// rows is more than a batch, and more than a row group of bytes.
const rows = 160_000

// TestParquet checks that a Parquet reader finds every row, the types, the units and the notes, also
// a note from after the first row; that it is compressed; and that equal rows are equal bytes.
func TestParquet(t *testing.T) {
	var out, again bytes.Buffer
	write(t, Parquet, &out, rows)
	write(t, Parquet, &again, rows)
	if !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Error("the same rows become different bytes")
	}
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"archive": "varve", "unit:SR:I": "mA", "lost": "7", "version": "Varve 1.2.3", "labels:count": labelsOfCount} {
		if got, _ := f.Lookup(key); got != want {
			t.Errorf("metadata %s is %q, want %q", key, got, want)
		}
	}
	var got [][]string
	for _, g := range f.RowGroups() {
		if g.NumRows() > groupRows+batchRows {
			t.Errorf("a row group has %d rows", g.NumRows())
		}
		got = append(got, parquetRows(t, g)...)
	}
	if n := len(f.RowGroups()); n < 2 {
		t.Errorf("the file has %d row groups", n)
	}
	checkRows(t, got, rows)
	if perRow := out.Len() / rows; perRow > 24 {
		t.Errorf("a row takes %d bytes", perRow)
	}
}

func parquetRows(t *testing.T, g parquet.RowGroup) (all [][]string) {
	t.Helper()
	r := g.Rows()
	defer r.Close()
	buf := make([]parquet.Row, 100)
	for {
		n, err := r.ReadRows(buf)
		for _, values := range buf[:n] {
			all = append(all, parquetRow(values))
		}
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func parquetRow(values parquet.Row) []string {
	out := make([]string, len(schema.Columns))
	var list []float64
	for _, v := range values {
		switch i := v.Column(); {
		case schema.Columns[i].Type == Floats && v.DefinitionLevel() == 0:
			out[i] = "-"
		case schema.Columns[i].Type == Floats:
			if v.DefinitionLevel() == 2 {
				list = append(list, v.Double())
			}
			out[i] = fmt.Sprint(list)
		case v.IsNull():
			out[i] = "-"
		case schema.Columns[i].Type == Uint:
			out[i] = fmt.Sprint(v.Uint64())
		case v.Kind() == parquet.Double:
			out[i] = fmt.Sprint(v.Double())
		default:
			out[i] = v.String()
		}
	}
	return out
}

// TestArrow checks that a reader of Arrow streams finds every row, the types, the units and the
// notes.
func TestArrow(t *testing.T) {
	var out bytes.Buffer
	write(t, Arrow, &out, rows)
	r, err := ipc.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	notes := r.Schema().Metadata()
	for key, want := range map[string]string{"archive": "varve", "version": "Varve 1.2.3"} {
		if got, _ := notes.GetValue(key); got != want {
			t.Errorf("the metadata %s are %q, want %q", key, got, want)
		}
	}
	if labels, _ := r.Schema().Field(2).Metadata.GetValue("labels"); labels != labelsOfCount {
		t.Errorf("the names of the states are %s", labels)
	}
	if unit, _ := r.Schema().Field(1).Metadata.GetValue("unit"); unit != "mA" {
		t.Errorf("the unit is %q", unit)
	}
	if typ := r.Schema().Field(0).Type.String(); typ != "timestamp[ns, tz=UTC]" {
		t.Errorf("times are %s", typ)
	}
	var got [][]string
	for r.Next() {
		rec := r.RecordBatch()
		for i := range int(rec.NumRows()) {
			cells := make([]string, rec.NumCols())
			for c := range cells {
				cells[c] = arrowCell(rec.Column(c), i)
			}
			got = append(got, cells)
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	checkRows(t, got, rows)
}

func arrowCell(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "-"
	}
	switch a := a.(type) {
	case *array.Timestamp:
		return fmt.Sprint(int64(a.Value(i)))
	case *array.Float64:
		return fmt.Sprint(a.Value(i))
	case *array.String:
		return a.Value(i)
	case *array.Dictionary:
		return a.Dictionary().(*array.String).Value(a.GetValueIndex(i))
	case *array.List:
		from, to := a.ValueOffsets(i)
		return fmt.Sprint(a.ListValues().(*array.Float64).Float64Values()[from:to])
	}
	return a.ValueStr(i)
}

// TestCSV checks the rows as a reader of RFC 4180 finds them: the unit in the header, times in UTC,
// empty cells for nulls, and nothing that a spreadsheet takes for a formula.
func TestCSV(t *testing.T) {
	var out bytes.Buffer
	write(t, CSV, &out, 20_000)
	if n := strings.Count(out.String(), "\r\n"); n != 20_001 {
		t.Errorf("the table has %d lines", n)
	}
	got, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(got) != 20_001 {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	for i, want := range map[int]string{
		0:      "time|SR:I [mA]|count|big|label|text|'=wave",
		1:      "2026-01-01T00:00:00.000000000Z|0.0|0|18446744073709551615|word 0|plain|[]",
		2:      "2026-01-01T00:00:00.000000001Z|0.3333333333333333|-1|18446744073709551614|word 0|'=1+1|[1.0]",
		3:      "2026-01-01T00:00:00.000000002Z|0.6666666666666666|-2|18446744073709551613|word 0|two\nlines, \"quoted\"|[1.0,NaN]",
		4:      "2026-01-01T00:00:00.000000003Z|-Infinity|-3|18446744073709551612|word 0||[1.0]",
		5:      "2026-01-01T00:00:00.000000004Z|NaN|-4|18446744073709551611|word 0|caf\u00e9 \ufffd|[]",
		7:      "2026-01-01T00:00:00.000000006Z|||18446744073709551609|||",
		20_000: "2026-01-01T00:00:00.000019999Z|NaN|-19999|18446744073709531616|word 3|caf\u00e9 \ufffd|[1.0]",
	} {
		if line := strings.Join(got[i], "|"); line != want {
			t.Errorf("row %d is %q, want %q", i, line, want)
		}
	}
}

// TestJSON checks that the table is valid JSON, with the names of numbers that JSON does not have.
func TestJSON(t *testing.T) {
	var out bytes.Buffer
	write(t, JSON, &out, 10_000)
	var got struct {
		Notes, After map[string]string
		Columns      []struct {
			Name, Type, Unit string
			Labels           []string
		}
		Rows [][]any
	}
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Notes["archive"] != "varve" || got.After["lost"] != "7" || fmt.Sprintf("%q", got.Columns[1:3]) != `[{"SR:I" "float64" "mA" []} {"count" "int64" "" ["Off" "say \"on\""]}]` {
		t.Errorf("the table has %v, %v, %v", got.Notes, got.After, got.Columns)
	}
	if len(got.Rows) != 10_000 {
		t.Fatalf("%d rows", len(got.Rows))
	}
	want := "[2026-01-01T00:00:00.000000003Z -Infinity -3 18446744073709551612 word 0  [1.0]]"
	if text := fmt.Sprint(got.Rows[3]); text != want {
		t.Errorf("row 3 is %s, want %s", text, want)
	}
	if text := fmt.Sprint(got.Rows[6][1:]); text != "[<nil> <nil> 18446744073709551609 <nil> <nil> <nil>]" {
		t.Errorf("row 6 is %s", text)
	}
}

// TestEmpty checks that a table without rows is valid in each format.
func TestEmpty(t *testing.T) {
	for _, f := range Formats {
		var out bytes.Buffer
		write(t, Format(f), &out, 0)
		switch Format(f) {
		case Parquet:
			if p, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil || p.NumRows() != 0 {
				t.Errorf("Parquet: %v", err)
			}
		case Arrow:
			if r, err := ipc.NewReader(&out); err != nil || r.Next() || r.Err() != nil || len(r.Schema().Fields()) != len(schema.Columns) {
				t.Errorf("Arrow: %v", err)
			}
		case JSON:
			if !json.Valid(out.Bytes()) {
				t.Errorf("JSON: %s", &out)
			}
		case CSV:
			if !strings.HasPrefix(out.String(), "time,SR:I [mA],count") {
				t.Errorf("CSV: %s", &out)
			}
		}
	}
}

// broken fails after some bytes.
type broken struct{ left int }

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// TestErrorsOfTheClientEndTheTable checks that a writer returns the error of its output.
func TestErrorsOfTheClientEndTheTable(t *testing.T) {
	for _, f := range Formats {
		w, err := NewWriter(Format(f), &broken{1000}, &Schema{Columns: []Column{{Name: "t", Type: Time}}})
		for i := 0; i < 1e6 && err == nil; i++ {
			w.Batch.Columns[0].AppendInt(int64(i) * int64(i) * 7919)
			err = w.FlushFull()
		}
		if err == nil {
			t.Errorf("%s: no error", f)
		}
	}
}
