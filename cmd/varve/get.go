package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newGet() *cobra.Command {
	var c client
	var from, to, format string
	cmd := &cobra.Command{
		Use:   "get PV",
		Short: "Read the samples of a PV",
		Long: `Prints the samples of a PV in a time range, starting with the last sample before the
range, together with the marks that explain gaps.

A time is in ISO 8601 format, in local time if it has no zone, or relative to now:
-10m, -2h, -7d.`,
		Example: `  varve get SR01-VA:PRES-01 --from -1h
  varve get SR01-VA:PRES-01 --from 2026-03-01T08:00:00+01:00 --to 2026-03-01T09:00:00+01:00 --format csv
  varve get SR01-VA:PRES-01 --from -7d --format json --url http://archiver:17665`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			now := time.Now()
			q := url.Values{"pv": {args[0]}}
			for name, text := range map[string]string{"from": from, "to": to} {
				t, err := parseTime(text, now)
				if err != nil {
					return fmt.Errorf("--%s: %w", name, err)
				}
				q.Set(name, t.UTC().Format(time.RFC3339Nano))
			}
			return c.get(cmd, q, format)
		},
	}
	c.add(cmd)
	f := cmd.Flags()
	f.StringVar(&from, "from", "-1h", "start of the time range")
	f.StringVar(&to, "to", "now", "end of the time range")
	f.StringVar(&format, "format", "table", "output format: table, csv or json")
	return cmd
}

// parseTime parses a time as documented in the help text.
func parseTime(text string, now time.Time) (time.Time, error) {
	if text == "now" {
		return now, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n float64
		if _, err := fmt.Sscanf(days+"\n", "%g\n", &n); err == nil {
			return now.Add(time.Duration(n * 24 * float64(time.Hour))), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a time such as 2026-03-01T08:00:00+01:00 nor a relative time such as -10m", text)
}

// apiSample and apiMark are JSON types of /api/v1.
type apiSample struct {
	Time             time.Time
	Value            json.RawMessage
	Severity, Status string
}

type apiMark struct {
	Time, End          time.Time
	Kind, Reason, Text string
	Count              uint64
}

func (m apiMark) String() string {
	s := m.Kind
	switch {
	case m.Count > 0:
		s += fmt.Sprintf(" %d samples (%s)", m.Count, m.Reason)
	case m.Reason != "":
		s += fmt.Sprintf(" an unknown number of samples (%s)", m.Reason)
	}
	if !m.End.IsZero() {
		s += " until " + m.End.Local().Format(clockLayout)
	}
	if m.Text != "" {
		s += " " + m.Text
	}
	return s
}

const clockLayout = "2006-01-02 15:04:05.000000000"

func (c *client) get(cmd *cobra.Command, q url.Values, format string) error {
	printer, ok := printers[format]
	if !ok {
		return fmt.Errorf("--format: %q is not table, csv or json", format)
	}
	var marks struct{ Marks []apiMark }
	if format != "json" {
		if err := c.decode(cmd, "/api/v1/marks?"+q.Encode(), &marks); err != nil {
			return err
		}
	}
	answer, err := c.open(cmd, "/api/v1/samples?"+q.Encode())
	if err != nil {
		return err
	}
	defer answer.Close()
	return printer(cmd.OutOrStdout(), answer, marks.Marks)
}

var printers = map[string]func(io.Writer, io.Reader, []apiMark) error{
	"json":  func(w io.Writer, r io.Reader, _ []apiMark) error { _, err := io.Copy(w, r); return err },
	"csv":   printCSV,
	"table": printTable,
}

func printCSV(w io.Writer, r io.Reader, _ []apiMark) error {
	fmt.Fprintln(w, "time,value,severity,status")
	return eachSample(r, func(s apiSample) error {
		_, err := fmt.Fprintf(w, "%s,%s,%s,%s\n", s.Time.Format(time.RFC3339Nano), quoteCSV(text(s.Value)), s.Severity, s.Status)
		return err
	})
}

func quoteCSV(s string) string {
	if strings.ContainsAny(s, ",\"\n\r") {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}

func printTable(w io.Writer, r io.Reader, marks []apiMark) error {
	markUntil := func(t time.Time) {
		for len(marks) > 0 && (t.IsZero() || !marks[0].Time.After(t)) {
			fmt.Fprintf(w, "%-29s  -- %s\n", marks[0].Time.Local().Format(clockLayout), marks[0])
			marks = marks[1:]
		}
	}
	n := 0
	err := eachSample(r, func(s apiSample) error {
		markUntil(s.Time)
		n++
		_, err := fmt.Fprintf(w, "%-29s  %-20s  %-8s  %s\n", s.Time.Local().Format(clockLayout), text(s.Value), s.Severity, s.Status)
		return err
	})
	if err != nil {
		return err
	}
	markUntil(time.Time{})
	fmt.Fprintf(w, "%d samples\n", n)
	return nil
}

// text returns a value without the quotes of a string.
func text(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// eachSample calls f for each sample in an answer of /api/v1/samples, as it arrives.
func eachSample(r io.Reader, f func(apiSample) error) error {
	dec := json.NewDecoder(r)
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the answer: %w", err)
		}
		if tok != "samples" {
			continue
		}
		if _, err := dec.Token(); err != nil { // the opening bracket
			return fmt.Errorf("reading the answer: %w", err)
		}
		for dec.More() {
			var s apiSample
			if err := dec.Decode(&s); err != nil {
				return fmt.Errorf("reading the answer: %w", err)
			}
			if err := f(s); err != nil {
				return err
			}
		}
	}
}
