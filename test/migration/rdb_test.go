package migration

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/database"
	"varve.dev/varve/test/program"
)

// begin is the time of the first row, near the end of a month.
var begin = time.Date(2021, 2, 28, 23, 50, 0, 0, time.UTC)

// rdbRow is a row of the table sample, and what the archive must have of it.
type rdbRow struct {
	channel          int
	at               time.Time
	severity, status int
	num, float, text any
	datatype         string
	array            []byte
	want             string // type, value, severity, status; empty if there must be no sample
}

const (
	channels = `INSERT INTO channel (channel_id, name, descr) VALUES (1, 'RDB:DOUBLE', 'a double'), (2, 'ca://RDB:ENUM', NULL),
		(3, 'RDB:TEXT', NULL), (4, 'RDB:ARRAY', NULL), (5, 'RDB:OLD', NULL), (6, 'RDB:DOUBLE.VAL', NULL), (7, 'sim://sine', NULL),
		(8, 'RDB:LONG', NULL), (9, 'RDB:EMPTY', NULL)`
	severities = `INSERT INTO severity (severity_id, name) VALUES (1, 'NONE'), (2, 'MINOR'), (3, 'MAJOR'), (4, 'UNDEFINED')`
	statuses   = `INSERT INTO status (status_id, name) VALUES (1, 'NO_ALARM'), (2, 'Disconnected'), (3, 'HIHI_ALARM'), (4, 'NaN'),
		(5, 'Archive_Off'), (6, 'driver on fire')`
	limits = `INSERT INTO num_metadata VALUES (1, 0, 10, 2, 8, NULL, 9, 3, 'mA')`
	labels = `INSERT INTO enum_metadata VALUES (2, 0, 'Off'), (2, 1, 'On')`
)

// rows are those of a damaged and otherwise usual archive, with n numbers of channel 1.
func rows(n int) (out []rdbRow) {
	at := func(seconds float64) time.Time { return begin.Add(time.Duration(seconds * 1e9)) }
	for i := range n {
		v := math.Sin(float64(i))
		out = append(out, rdbRow{channel: 1, at: at(float64(i) * 1.25).Add(time.Duration(i)), severity: 1 + i%2, status: 1 + 2*(i%2), float: v,
			want: fmt.Sprintf("float64 %v %d %d", math.Float64bits(v), i%2, 3*(i%2))})
	}
	end := float64(n) * 1.25
	out = append(out,
		rdbRow{channel: 1, at: at(end + 10), severity: 4, status: 2, text: "Disconnected"},
		rdbRow{channel: 1, at: at(end + 20), severity: 4, status: 4, float: 0.0, want: fmt.Sprintf("float64 %v 3 0", math.Float64bits(math.NaN()))},
		rdbRow{channel: 1, at: at(end + 21), severity: 3, status: 6, float: 2.5, want: fmt.Sprintf("float64 %v 2 0", math.Float64bits(2.5))},
		rdbRow{channel: 1, at: at(end + 22), severity: 1, status: 1}, // damaged: without a value
		rdbRow{channel: 6, at: at(end + 30), severity: 1, status: 1, float: 7.0, want: fmt.Sprintf("float64 %v 0 0", math.Float64bits(7))},
		rdbRow{channel: 2, at: at(1), severity: 1, status: 1, num: 1, want: "enum 1 0 0"},
		rdbRow{channel: 2, at: at(2), severity: 1, status: 1, float: 0.0, want: "enum 0 0 0"},
		rdbRow{channel: 2, at: at(3), severity: 1, status: 5, text: "Archive_Off"},
		rdbRow{channel: 3, at: at(1.999999999), severity: 1, status: 1, text: "grün", want: `string "grün" 0 0`},
		rdbRow{channel: 4, at: at(1.5), severity: 1, status: 1, float: 1.0, datatype: "d", array: doubles(1, math.NaN(), -0.5), want: "float64[] " + hexOf(1, math.NaN(), -0.5) + " 0 0"},
		rdbRow{channel: 4, at: at(2.5), severity: 1, status: 1, float: 1.0, datatype: "d", array: []byte{0, 0, 0, 9, 1}}, // damaged
		rdbRow{channel: 5, at: at(1.25), severity: 1, status: 1, float: 4.0, want: "float64[] " + hexOf(4, 5, 6) + " 0 0"},
		rdbRow{channel: 5, at: at(2.25), severity: 1, status: 1, float: 8.0, want: fmt.Sprintf("float64 %v 0 0", math.Float64bits(8))},
		rdbRow{channel: 8, at: at(5), severity: 1, status: 1, num: -7, want: "int32 18446744073709551609 0 0"},
	)
	return out
}

// doubles encodes an array as the archive engine does.
func doubles(values ...float64) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(values)))
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// hexOf returns the elements of an array as text.
func hexOf(values ...float64) string {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return fmt.Sprintf("%x", b)
}

// fill creates the tables of an RDB archiver.
func fill(t *testing.T, db *database.Database, schema string, rows []rdbRow) {
	t.Helper()
	tables, err := os.ReadFile(schema)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(text string, args ...any) {
		if _, err := tx.ExecContext(t.Context(), text, args...); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	for _, text := range append(strings.Split(strings.TrimSpace(string(tables)), ";\n"), channels, severities, statuses, limits, labels) {
		exec(strings.TrimSuffix(text, ";"))
	}
	insert := "INSERT INTO sample VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
	element := "INSERT INTO array_val VALUES ($1, $2, $3, $4, $5)"
	if strings.HasPrefix(db.URL, "mysql") {
		insert, element = "INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "INSERT INTO array_val VALUES (?, ?, ?, ?, ?)"
	}
	for _, r := range rows {
		kind := r.datatype
		if kind == "" {
			kind = " "
		}
		exec(insert, r.channel, r.at, r.at.Nanosecond(), r.severity, r.status, r.num, r.float, r.text, kind, r.array)
		if r.channel == 5 && r.float == 4.0 {
			exec(element, 5, r.at, r.at.Nanosecond(), 1, 5.0)
			exec(element, 5, r.at, r.at.Nanosecond(), 2, 6.0)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// wanted returns the lines that the archive must have, sorted.
func wanted(rows []rdbRow) (out []string) {
	names := []string{1: "RDB:DOUBLE", 2: "RDB:ENUM", 3: "RDB:TEXT", 4: "RDB:ARRAY", 5: "RDB:OLD", 6: "RDB:DOUBLE", 8: "RDB:LONG"}
	for _, r := range rows {
		if r.want != "" {
			out = append(out, fmt.Sprintf("%s %d %s", names[r.channel], r.at.UnixNano(), r.want))
		}
	}
	slices.Sort(out)
	return out
}

// archived returns a line for each sample in an archive, sorted, and the marks of RDB:DOUBLE.
func archived(t *testing.T, dir string) (lines []string, marks []sample.Mark) {
	t.Helper()
	st, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r := &query.Reader{Store: st, Shards: 64}
	for _, pv := range []string{"RDB:DOUBLE", "RDB:ENUM", "RDB:TEXT", "RDB:ARRAY", "RDB:OLD", "RDB:LONG"} {
		read, err := r.Read(t.Context(), pv, query.Earliest, query.Latest, query.Options{})
		if err != nil {
			t.Fatalf("reading %s: %v", pv, err)
		}
		for run, err := range read.All {
			if err != nil {
				t.Fatalf("reading %s: %v", pv, err)
			}
			for i := range run.Len() {
				lines = append(lines, fmt.Sprintf("%s %d %s %s %d %d", pv, run.Times[i], run.Type, text(run, i), run.Tags[i].Severity(), run.Tags[i].Status()))
			}
		}
	}
	for m, err := range st.Marks(t.Context(), "RDB:DOUBLE", math.MinInt64, math.MaxInt64) {
		if err != nil {
			t.Fatal(err)
		}
		marks = append(marks, m.Mark)
	}
	m, found, err := st.MetadataAt(t.Context(), "RDB:DOUBLE", begin.UnixNano())
	if err != nil || !found || m.Units != "mA" || m.Precision != 3 || m.WarnHigh != 8 || !math.IsNaN(m.AlarmLow) || m.Type != sample.Float64 {
		t.Errorf("the metadata of RDB:DOUBLE is %+v, %v", m, err)
	}
	if m, _, err = st.MetadataAt(t.Context(), "RDB:ENUM", begin.UnixNano()); err != nil || !slices.Equal(m.Labels, []string{"Off", "On"}) {
		t.Errorf("the metadata of RDB:ENUM is %+v, %v", m, err)
	}
	slices.Sort(lines)
	return lines, marks
}

// text returns a value as rdbRow.want has it.
func text(r *sample.Run, i int) string {
	switch {
	case r.Type.Fixed():
		return strconv.FormatUint(r.Words[i], 10)
	case r.Type == sample.String:
		return strconv.Quote(string(r.Value(i)))
	}
	return fmt.Sprintf("%x", r.Value(i))
}

// importRDB imports from a database, and returns what it prints.
func importRDB(t *testing.T, url, archive string, flags ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program.Path(), append([]string{"import", "data", "--from", "rdb", url, "--data", archive}, flags...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 { // the rows have damage
		t.Fatalf("importing: %v\n%s%s", err, out, errs.String())
	}
	return string(out) + errs.String()
}

// TestLong_ImportsTheTablesOfAnRDBArchiver imports from both databases, twice.
func TestLong_ImportsTheTablesOfAnRDBArchiver(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *database.Database{"postgres": database.Postgres, "mysql": database.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, archive := start(t), t.TempDir()
			rows := rows(2000)
			fill(t, db, "testdata/"+name+".sql", rows)
			want := wanted(rows)
			out := importRDB(t, db.URL, archive, "--verify")
			for _, text := range []string{
				fmt.Sprintf("7 of 7 PVs: %d samples read, %d stored, 0 in the archive before", len(want), len(want)),
				"2 rows damaged, 1 channels skipped", "; 0 of ", "sim:// are no names", "the row has no value",
				"array_val declares 9 elements", "status driver on fire is unknown in EPICS base; 1 samples",
			} {
				if !strings.Contains(out, text) {
					t.Errorf("the import does not print %q:\n%s", text, out)
				}
			}
			lines, marks := archived(t, archive)
			if d := cmp.Diff(want, lines); d != "" {
				t.Errorf("the archive differs (-tables +archive):\n%s", d)
			}
			if len(marks) != 2 || marks[0].Kind != sample.Disconnected || marks[1].Kind != sample.Connected || marks[1].Time-marks[0].Time != 10e9 {
				t.Errorf("the marks of RDB:DOUBLE are %+v", marks)
			}
			if out := importRDB(t, db.URL, archive); !strings.Contains(out, fmt.Sprintf(" 0 stored, %d in the archive before", len(want))) {
				t.Errorf("the second import prints %s", out)
			}
			if again, twice := archived(t, archive); !slices.Equal(again, lines) || len(twice) != 2 {
				t.Errorf("after the second import, the archive has %d samples and %d marks", len(again), len(twice))
			}
		})
	}
}
