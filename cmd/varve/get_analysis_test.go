package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
)

// TestGetAlignAndWhere checks tables with common times, and samples while a condition holds.
func TestGetAlignAndWhere(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ramp := func(from int) *sample.Run {
		r := &sample.Run{Type: sample.Float64}
		for i := range 10 {
			r.Append(&sample.Sample{Time: at.Add(time.Duration(i) * time.Second).UnixNano(), Word: math.Float64bits(float64(from + i))})
		}
		return r
	}
	text := &sample.Run{Type: sample.String}
	text.Append(&sample.Sample{Time: at.Add(time.Second).UnixNano(), Bytes: []byte("=1+1\x1b")})
	serveRuns(t, map[string]*sample.Run{"A": ramp(0), "B": ramp(100), "T": text})
	span := []string{"--from", "2026-01-01T00:00Z", "--to", "2026-01-01T00:00:09Z"}
	get := func(args ...string) string {
		t.Helper()
		out, _, err := varve(t, append(append([]string{"get"}, args...), span...)...)
		if err != nil {
			t.Fatalf("get %q: %v", args, err)
		}
		return out
	}
	rows, err := csv.NewReader(strings.NewReader(get("A", "B", "T", "--align", "4s", "-o", "csv"))).ReadAll()
	if err != nil || len(rows) != 4 || strings.Join(rows[0], " ") != "time A B T" || strings.Join(rows[1], " ") != "2026-01-01T00:00:00.000000000Z 0.0 100.0 " ||
		strings.Join(rows[3][1:], " ") != "8.0 108.0 '=1+1\x1b" {
		t.Errorf("the CSV is %q, %v", rows, err)
	}
	table := strings.Split(get("A", "T", "--align", "4s"), "\n")
	if len(table) != 5 || strings.Join(strings.Fields(table[0]), " ") != "time A T" || !strings.HasSuffix(table[1], "  0.0           -") ||
		!strings.HasSuffix(table[3], `=1+1\x1b`) || !strings.HasPrefix(table[1], at.Local().Format("2006-01-02 15:04:05")) {
		t.Errorf("the table is %q", table)
	}
	if got := get("A", "--align", "5s", "--fill", "mean", "-o", "json"); !json.Valid([]byte(got)) || !strings.Contains(got, `"fill":"mean"`) {
		t.Errorf("the JSON is %s", got)
	}
	if got := get("A", "--where", "B between 103 and 105"); strings.Count(got, "NO_ALARM  NO_ALARM") != 3 || !strings.Contains(got, "3 samples") {
		t.Errorf("the selected samples are %s", got)
	}
	for args, says := range map[string]string{
		"A --fill mean":              "give --align too",
		"A --align 1s --where B>1":   "cannot be combined",
		"A --align 1s --last 3":      "cannot be combined with --at or --last",
		"mean_60(A) --align 1s":      "a post-processor cannot be combined",
		"A --align 1x":               "is not a duration",
		"A --where B>":               "parameter where: at character 3",
		"T --align 1s --fill linear": "linear needs numbers",
	} {
		if _, _, err := varve(t, append([]string{"get"}, strings.Fields(args)...)...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("get %s: %v", args, err)
		}
	}
}
