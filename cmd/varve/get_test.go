package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/engine/serve/native"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// TestGetWarnsIfSamplesAreMissing checks that varve get prints up to which time an answer is
// complete. It prints this to standard error, so that the output stays as it is.
func TestGetWarnsIfSamplesAreMissing(t *testing.T) {
	until := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	header := ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if header != "" {
			w.Header().Set("Varve-Complete-Until", header)
		}
		fmt.Fprintln(w, `{"pv":"A","runs":[{"type":"float64","samples":[{"time":"2026-03-04T05:06:06Z","value":1.5,"severity":"NO_ALARM","status":"NO_ALARM"}]}],"marks":[]}`)
	}))
	defer srv.Close()
	get := func(format string) (stdout, stderr string) {
		var out, warnings bytes.Buffer
		cmd := newGet()
		cmd.SetArgs([]string{"A", "--url", srv.URL, "--format", format})
		cmd.SetOut(&out)
		cmd.SetErr(&warnings)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return out.String(), warnings.String()
	}
	for _, format := range []string{"table", "csv", "json"} {
		header = ""
		whole, none := get(format)
		header = until.Format(time.RFC3339Nano)
		lagging, warning := get(format)
		if want := "complete until " + until.Local().Format("2006-01-02 15:04:05"); none != "" || !strings.Contains(warning, want) {
			t.Errorf("%s: the warning is %q, want one with %q, and none without the header: %q", format, warning, want, none)
		}
		if whole != lagging || !strings.Contains(whole, "1.5") {
			t.Errorf("%s: the output is %q, and with the header %q", format, whole, lagging)
		}
		for _, header = range []string{"unknown", time.Unix(0, query.Earliest).UTC().Format(time.RFC3339Nano)} {
			if _, warning := get(format); !strings.Contains(warning, "not known until when") || strings.Contains(warning, "1900") {
				t.Errorf("%s: the warning is %q, although no time is known", format, warning)
			}
		}
	}
}

// TestGetPrintsTheCauseOfNoData checks that varve get prints why there is no data, also if texts in the
// answer are equal to names of its fields. The cause is no part of the CSV.
func TestGetPrintsTheCauseOfNoData(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, `{"pv":"samples","metadata":{"enums":["noData","samples"]},"runs":[],"marks":[{"time":"2026-03-04T05:06:07Z","kind":"disconnected","text":"noData"}],`+
			`"noData":{"cause":"searching","since":"2026-03-04T05:06:07Z","text":"no server has answered"}}`)
	}))
	defer srv.Close()
	for format, toDiag := range map[string]bool{"table": false, "csv": true} {
		var out, diag bytes.Buffer
		cmd := newGet()
		cmd.SetArgs([]string{"samples", "--url", srv.URL, "--format", format})
		cmd.SetOut(&out)
		cmd.SetErr(&diag)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		const want = "searching: no server has answered"
		if strings.Contains(diag.String(), want) != toDiag || strings.Contains(out.String(), want) == toDiag {
			t.Errorf("%s: printed %q, and to the standard error %q", format, &out, &diag)
		}
	}
}

// nobody captures no channels.
type nobody struct{}

func (nobody) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(func(capture.Status, error) bool) {}
}

func (nobody) Status(context.Context, string) (s capture.Status, captured bool, err error) {
	return s, false, nil
}

// serveRuns serves an archive with a run of samples for each PV, and names it in VARVE_URL.
func serveRuns(t *testing.T, runs map[string]*sample.Run) {
	t.Helper()
	serveCaptured(t, runs, nobody{})
}

// serveCaptured is serveRuns for a process that captures channels.
func serveCaptured(t *testing.T, runs map[string]*sample.Run, channels native.Channels) {
	t.Helper()
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	for pv, run := range runs {
		bucket := store.Year.Of(run.Times[0])
		if err := st.AddChannel(t.Context(), store.Channel{PV: pv, Shards: []int{0}, Types: []sample.Type{run.Type}, Starts: []store.Bucket{bucket}}); err != nil {
			t.Fatal(err)
		}
		if err := st.PutBlocks(t.Context(), store.Block{
			BlockKey: store.BlockKey{PV: pv, Bucket: bucket, Start: run.Times[0], Writer: store.WriterID{1}, N: 1},
			End:      run.Times[run.Len()-1], Count: run.Len(), Type: run.Type, Blob: block.Append(nil, run),
		}); err != nil {
			t.Fatal(err)
		}
	}
	reg := prometheus.NewRegistry()
	h, err := serve.New(&serve.Config{
		Reader: &query.Reader{Store: st, Shards: 1}, Channels: channels, Gatherer: reg, Metrics: serve.NewMetrics(reg),
		Ready: func() error { return nil }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	t.Setenv(urlVariable, srv.URL)
}

// TestLastSamples checks that --last finds exactly the last samples: of a PV that changes ten times
// a second, of one that changes every few weeks, and of one with few samples.
func TestLastSamples(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ramp := func(n int, every time.Duration) *sample.Run {
		r := &sample.Run{Type: sample.Float64}
		for i := range n {
			r.Append(&sample.Sample{Time: begin.Add(time.Duration(i) * every).UnixNano(), Word: math.Float64bits(float64(i))})
		}
		return r
	}
	serveRuns(t, map[string]*sample.Run{
		"FAST": ramp(5000, 100*time.Millisecond), "SLOW": ramp(12, 25*24*time.Hour), "BURST": ramp(2000, time.Millisecond), "ONE": ramp(1, 1),
	})
	for _, c := range []struct {
		args        string
		n           int
		first, last string // values; empty if there are no samples
	}{
		{"FAST --last 3 --to 2026-01-01T00:01Z", 3, "598.0", "600.0"},
		{"FAST --last 3 --to 2026-12-31", 3, "4997.0", "4999.0"},
		{"FAST --last 5000 --to 2026-12-31", 5000, "0.0", "4999.0"},
		{"FAST --last 6000 --to 2026-12-31", 5000, "0.0", "4999.0"},
		{"SLOW --last 4 --to 2026-12-31", 4, "8.0", "11.0"},
		{"SLOW --last 100 --to 2026-12-31", 12, "0.0", "11.0"},
		{"SLOW --last 1 --to 2026-01-26T00:00Z", 1, "1.0", "1.0"},
		{"BURST --last 7 --to 2026-12-31", 7, "1993.0", "1999.0"},
		{"ONE --last 1 --to 2026-12-31", 1, "0.0", "0.0"},
		{"ONE --last 2 --to 2025-12-31", 0, "", ""},
	} {
		out, _, err := varve(t, append(strings.Fields("get -o csv"), strings.Fields(c.args)...)...)
		rows, csvErr := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || csvErr != nil || len(rows) != c.n+1 {
			t.Errorf("get %s prints %d rows, %v, %v; want %d samples", c.args, len(rows), err, csvErr, c.n)
			continue
		}
		if c.n > 0 && (rows[1][2] != c.first || rows[c.n][2] != c.last) {
			t.Errorf("get %s prints values from %s to %s; want %s to %s", c.args, rows[1][2], rows[c.n][2], c.first, c.last)
		}
	}
}

// TestHostileValues checks that a string of an IOC controls neither a terminal nor a spreadsheet,
// and that the CSV is valid.
func TestHostileValues(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	run := &sample.Run{Type: sample.String}
	values := []string{"\x1b[31mred\x07", "=HYPERLINK(\"x\")", "two\nlines, \"quoted\"", "-5", "plain"}
	for i, v := range values {
		run.Append(&sample.Sample{Time: at.Add(time.Duration(i) * time.Second).UnixNano(), Bytes: []byte(v)})
	}
	serveRuns(t, map[string]*sample.Run{"TEXT": run})
	span := []string{"--from", "2026-01-01T00:00Z", "--to", "2026-01-01T00:01Z"}
	table, _, err := varve(t, append([]string{"get", "TEXT"}, span...)...)
	if err != nil || strings.ContainsAny(table, "\x1b\x07") || !strings.Contains(table, `\x1b[31mred\a`) || !strings.Contains(table, `two\nlines`) {
		t.Errorf("the table is %q, %v", table, err)
	}
	text, _, err := varve(t, append([]string{"get", "TEXT", "-o", "csv"}, span...)...)
	if err != nil || strings.Count(text, "\r\n") != len(values)+1 {
		t.Errorf("the CSV is %q, %v", text, err)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != len(values)+1 {
		t.Fatalf("the CSV has %d rows, %v", len(rows), err)
	}
	for i, want := range []string{values[0], "'" + values[1], values[2], "-5", "plain"} {
		if got := rows[i+1][2]; got != want {
			t.Errorf("cell %d is %q, want %q", i, got, want)
		}
	}
}
