package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"math"
	"strings"
	"testing"

	"varve.dev/varve/engine/sample"
)

func run(typ sample.Type, samples ...sample.Sample) *sample.Run {
	r := &sample.Run{Type: typ}
	for i := range samples {
		samples[i].Time = year + int64(i)*1e9
		r.Append(&samples[i])
	}
	return r
}

func word(w uint64) sample.Sample { return sample.Sample{Word: w} }

// longCSV returns the table of samples as CSV.
func longCSV(t *testing.T, d *Description, runs ...*sample.Run) ([][]string, error) {
	t.Helper()
	var types []sample.Type
	for _, r := range runs {
		types = append(types, r.Type)
	}
	var out bytes.Buffer
	w, err := NewWriter(CSV, &out, &Schema{Columns: LongColumns(ValueType(types))})
	if err != nil {
		t.Fatal(err)
	}
	l := NewLong(w)
	for _, r := range runs {
		if err := l.Append("A", d, r); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows, nil
}

// TestLongTablesHoldAllTypes checks the value, the label, the units and the alarm of samples of each
// kind of type, and of samples of several types in one table.
func TestLongTablesHoldAllTypes(t *testing.T) {
	half := math.Float64bits(0.5)
	array := run(sample.Int16.Array(), sample.Sample{Bytes: []byte{1, 0, 0xff, 0xff}})
	text := run(sample.String, sample.Sample{Bytes: []byte("on, \xb0")})
	for name, c := range map[string]struct {
		runs []*sample.Run
		want string // value, label, severity and status of each row
	}{
		"floats":           {[]*sample.Run{run(sample.Float64, word(half), sample.Sample{Word: half, Tag: sample.MakeTag(sample.Major, 3)})}, "0.5||NO_ALARM|NO_ALARM 0.5||MAJOR|HIHI"},
		"integers":         {[]*sample.Run{run(sample.Int32, word(math.MaxUint64))}, "-1||NO_ALARM|NO_ALARM"},
		"64 bits":          {[]*sample.Run{run(sample.Int64, word(math.MaxInt64))}, "9223372036854775807||NO_ALARM|NO_ALARM"},
		"unsigned":         {[]*sample.Run{run(sample.Uint64, word(math.MaxUint64))}, "18446744073709551615||NO_ALARM|NO_ALARM"},
		"enum":             {[]*sample.Run{run(sample.Enum, word(1), word(9))}, "1|Open|NO_ALARM|NO_ALARM 9||NO_ALARM|NO_ALARM"},
		"enum and floats":  {[]*sample.Run{run(sample.Enum, word(1)), run(sample.Float32, word(uint64(math.Float32bits(2))))}, "1.0|Open|NO_ALARM|NO_ALARM 2.0||NO_ALARM|NO_ALARM"},
		"int64 and floats": {[]*sample.Run{run(sample.Int64, word(1<<53)), run(sample.Float64, word(half))}, "9.007199254740992e+15||NO_ALARM|NO_ALARM 0.5||NO_ALARM|NO_ALARM"},
		"arrays":           {[]*sample.Run{array}, "[1.0,-1.0]||NO_ALARM|NO_ALARM"},
		"strings":          {[]*sample.Run{text}, "on,\u00a0\ufffd||NO_ALARM|NO_ALARM"},
		"a mix":            {[]*sample.Run{array, text, run(sample.Float64, word(half))}, "[1,-1]||NO_ALARM|NO_ALARM on,\u00a0\ufffd||NO_ALARM|NO_ALARM 0.5||NO_ALARM|NO_ALARM"},
	} {
		rows, err := longCSV(t, &Description{Units: "mA", Labels: []string{"Closed", "Open"}}, c.runs...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, r := range rows[1:] {
			if r[0] != "A" || r[4] != "mA" || !strings.HasPrefix(r[1], "2026-01-01T00:00:0") {
				t.Errorf("%s: a row is %q", name, r)
			}
			got = append(got, strings.ReplaceAll(r[2], " ", "\u00a0")+"|"+r[3]+"|"+r[5]+"|"+r[6])
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: the table has %q, want %q", name, s, c.want)
		}
	}
}

// TestLongTablesDoNotRound checks that a table refuses samples that it cannot hold, instead of
// changing them: types that the column was not made for, and integers that become floats.
func TestLongTablesDoNotRound(t *testing.T) {
	floats := run(sample.Float64, word(0))
	for name, r := range map[string]*sample.Run{
		"int64":  run(sample.Int64, word(1<<53+1)),
		"uint64": run(sample.Uint64, word(1<<60)),
	} {
		_, err := longCSV(t, &Description{}, floats, r)
		var wrong *TypeError
		if !errors.As(err, &wrong) || wrong.PV != "A" || wrong.Type != r.Type {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	w, err := NewWriter(Parquet, &bytes.Buffer{}, &Schema{Columns: LongColumns(ValueType([]sample.Type{sample.Int32}))})
	if err != nil {
		t.Fatal(err)
	}
	if err := NewLong(w).Append("A", &Description{}, floats); err == nil {
		t.Error("a column of integers takes floats")
	}
}

// TestLargeValuesAreWrittenOneByOne checks that a batch does not gather arrays until it has 8,192 of
// them.
func TestLargeValuesAreWrittenOneByOne(t *testing.T) {
	r := &sample.Run{Type: sample.Uint8.Array()}
	for i := range 64 {
		r.Append(&sample.Sample{Time: int64(i), Bytes: make([]byte, 100_000)})
	}
	w, err := NewWriter(Parquet, &bytes.Buffer{}, &Schema{Columns: LongColumns(Floats)})
	if err != nil {
		t.Fatal(err)
	}
	if err := NewLong(w).Append("A", &Description{}, r); err != nil {
		t.Fatal(err)
	}
	if held := 8 * cap(w.Batch.Columns[longValue].Floats); held > 4<<20 {
		t.Errorf("the batch holds %d bytes", held)
	}
}

// BenchmarkLong measures a row of a double with an alarm in each format.
func BenchmarkLong(b *testing.B) {
	r := &sample.Run{Type: sample.Float64}
	for i := range 4096 {
		s := sample.Sample{Time: year + int64(i)*1e9 + int64(i*i%7919)*1000, Word: math.Float64bits(math.Round(1e4*math.Sin(float64(i)/500)) / 1e4)}
		if i%1000 < 20 {
			s.Tag = sample.MakeTag(sample.Minor, 4)
		}
		r.Append(&s)
	}
	for _, f := range Formats {
		b.Run(f, func(b *testing.B) {
			var out counter
			w, err := NewWriter(Format(f), &out, &Schema{Columns: LongColumns(Float)})
			if err != nil {
				b.Fatal(err)
			}
			l := NewLong(w)
			for range b.N {
				if err := l.Append("SR01-VA:PRES-01", &Description{Units: "mbar"}, r); err != nil {
					b.Fatal(err)
				}
				for i := range r.Times {
					r.Times[i] += 4096e9
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			rows := float64(b.N) * 4096
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/rows, "ns/row")
			b.ReportMetric(float64(out)/rows, "B/row")
		})
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
