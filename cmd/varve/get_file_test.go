package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"

	"varve.dev/varve/engine/sample"
)

// filesIn returns the names of the files in a directory, hidden ones too.
func filesIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// TestGetWritesFiles checks files of each format, and that the extension says the format.
func TestGetWritesFiles(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &sample.Run{Type: sample.Float64}
	for i := range 10 {
		r.Append(&sample.Sample{Time: at.Add(time.Duration(i) * time.Second).UnixNano(), Word: math.Float64bits(float64(i))})
	}
	serveRuns(t, map[string]*sample.Run{"A": r, "B": r})
	dir := t.TempDir()
	get := func(args string) error {
		_, _, err := varve(t, strings.Fields("get "+strings.ReplaceAll(args, "DIR", dir)+" --from 2026-01-01T00:00Z --to 2026-01-01T00:00:09Z")...)
		return err
	}
	for _, args := range []string{"A B --file DIR/a.parquet", "A -f DIR/b.arrow", "A --format parquet -f DIR/c", "A -f DIR/d.csv", "A -f DIR/g.txt", "A -o arrow -f DIR/a.parquet.csv", "A B --align 1s -f DIR/e.arrow", "A --where B>3 -f DIR/f.arrow"} {
		if err := get(args); err != nil {
			t.Errorf("get %s: %v", args, err)
		}
	}
	read := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, rows := range map[string]int64{"a.parquet": 20, "c": 10} {
		b := read(name)
		if f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b))); err != nil || f.NumRows() != rows {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"b.arrow", "a.parquet.csv"} {
		in, err := ipc.NewReader(bytes.NewReader(read(name)))
		if err != nil || !in.Next() || in.RecordBatch().NumRows() != 10 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, column := range map[string]string{"e.arrow": "B", "f.arrow": "value"} {
		in, err := ipc.NewReader(bytes.NewReader(read(name)))
		if err != nil || !in.Next() || in.RecordBatch().NumRows() == 0 || !in.Schema().HasField(column) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text := string(read("d.csv")); strings.Count(text, "\r\n") != 11 {
		t.Errorf("the CSV is %s", text)
	}
	if names := filesIn(t, dir); names != "a.parquet a.parquet.csv b.arrow c d.csv e.arrow f.arrow g.txt" {
		t.Errorf("the files are %s", names)
	}
	for args, says := range map[string]string{
		"A -o x.parquet":                         "to write a file, use --file x.parquet",
		"A -f DIR":                               "is no regular file",
		"A -f DIR/none/a.csv":                    "--file: open",
		"A -f DIR/x.xls":                         "x.xls\" ends in .xls, which says no format; the extensions are .csv, .json,",
		"mean_60(A) --file DIR/x.parquet":        "--format parquet has stored samples",
		"AA --file DIR/x.arrow":                  "unknown PV AA",
		"A --format parkett --file DIR/x.arrow":  "the formats are table, csv, json, arrow, parquet",
		"A B --file DIR/x.arrow --where A>B>C>D": "parameter where",
	} {
		if err := get(args); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("get %s: %v", args, err)
		}
	}
	if _, _, err := varve(t, "get", "A", "B", "--last", "2", "-o", "arrow"); err == nil || !strings.Contains(err.Error(), "takes one PV") {
		t.Errorf("the last samples of two PVs: %v", err)
	}
	if strings.Contains(filesIn(t, dir), "x.") {
		t.Errorf("requests that failed left %s", filesIn(t, dir))
	}
}

// TestGetLeavesNoPartOfAFile checks that a file stays as it was if the user interrupts the command, or
// if the archive cannot complete its answer.
func TestGetLeavesNoPartOfAFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.parquet")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, interrupted := range []bool{true, false} {
		ctx, interrupt := context.WithCancel(t.Context())
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, strings.Repeat("PAR1", 10000))
			_ = http.NewResponseController(w).Flush()
			if !interrupted {
				panic(http.ErrAbortHandler)
			}
			interrupt()
			<-r.Context().Done()
		}))
		cmd := newGet()
		cmd.SetArgs([]string{"A", "--url", srv.URL, "--file", name})
		err := cmd.ExecuteContext(ctx)
		interrupt()
		srv.Close()
		old, readErr := os.ReadFile(name)
		if err == nil || readErr != nil || string(old) != "old" || filesIn(t, dir) != "a.parquet" {
			t.Errorf("interrupted %v: the error is %v, %v, the file has %d bytes, the files are %s", interrupted, err, readErr, len(old), filesIn(t, dir))
		}
	}
}

// TestGetRefusesATerminal checks that binary formats do not go to a terminal.
func TestGetRefusesATerminal(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this machine has no terminals: %v", err)
	}
	defer tty.Close()
	cmd := newGet()
	cmd.SetArgs([]string{"A", "--url", "127.0.0.1:1", "--format", "parquet"})
	cmd.SetOut(tty)
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "--file NAME.parquet") {
		t.Errorf("the error is %v", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isScreen(null) || isScreen(&bytes.Buffer{}) || !isScreen(tty) {
		t.Error("the null device or a buffer is a terminal, or a terminal is none")
	}
}
