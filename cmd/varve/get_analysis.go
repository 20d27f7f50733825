package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/serve/stream"
)

// analysis is the flags of `varve get` that the archive evaluates.
type analysis struct{ align, fill, where string }

func (a *analysis) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.align, "align", "", "print one table with a row for each multiple of this time, such as 1s or 5m")
	f.StringVar(&a.fill, "fill", "last", "values in the rows of --align: last, mean or linear")
	f.StringVar(&a.where, "where", "", "print the samples while a condition holds, such as 'SR:I > 0.5'")
}

// check returns an error if flags exclude each other.
func (a *analysis) check(given func(flag string) bool) error {
	switch {
	case given("fill") && a.align == "":
		return errors.New("--fill says how to fill the rows of --align; give --align too, such as --align 1s")
	case a.align != "" && a.where != "":
		return errors.New("--align and --where cannot be combined")
	case (a.align != "" || a.where != "") && (given("at") || given("last")):
		return errors.New("--align and --where need a time range; they cannot be combined with --at or --last")
	}
	return nil
}

// samplesPath returns the path of a request for the stored samples of a PV.
func (o *getOptions) samplesPath(pv string, span timeSpan) string {
	path := "/api/v1/samples?" + span.query(pv)
	if o.where != "" {
		path += "&" + url.Values{"where": {o.where}}.Encode()
	}
	return path
}

// printAligned reads one table of all PVs and prints it.
func (o *getOptions) printAligned(cmd *cobra.Command, targets []target, span timeSpan, out *bufio.Writer) error {
	q := url.Values{"from": {utc(span.from)}, "to": {utc(span.to)}, "align": {o.align}, "fill": {o.fill}}
	for i := range targets {
		q.Add("pv", targets[i].pv)
	}
	resp, err := o.open(cmd, "/api/v1/samples?"+q.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch o.format.format {
	case jsonFormat:
		_, err = io.Copy(out, resp.Body)
	case csvFormat:
		w := newCSV(out)
		if err = readTable(resp.Body, func(columns []apiColumn) error {
			return w.row(headings(columns, safeCell)...)
		}, func(row []json.RawMessage) error { return w.row(cells(row, safeCell)...) }); err == nil {
			err = w.flush()
		}
	default:
		err = o.printRows(resp.Body, out)
	}
	if err != nil {
		return err
	}
	warnOf(cmd.ErrOrStderr(), resp)
	return nil
}

// warnOf prints what an answer lacks.
func warnOf(w io.Writer, resp *http.Response) {
	for _, h := range []http.Header{resp.Header, resp.Trailer} {
		warnIfIncomplete(w, h.Get(stream.CompleteUntil))
		warnIfLost(w, h.Get(stream.LostSamples))
	}
}

// printRows prints a table for people. Its columns have a fixed width, because it may be long.
func (o *getOptions) printRows(answer io.Reader, out io.Writer) error {
	var widths []int
	line := func(texts []string) error {
		var b strings.Builder
		for i, text := range texts {
			if i > 0 {
				b.WriteString("  ")
			}
			fmt.Fprintf(&b, "%-*s", widths[i], text)
		}
		_, err := fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
		return err
	}
	return readTable(answer, func(columns []apiColumn) error {
		texts := headings(columns, printable)
		for _, text := range texts {
			widths = append(widths, max(len([]rune(text)), minWidth))
		}
		widths[0] = len(clockLayout)
		return line(texts)
	}, func(row []json.RawMessage) error {
		if len(row) > len(widths) || len(row) == 0 {
			return fmt.Errorf("reading the answer: a row has %d cells, and there are %d columns", len(row), len(widths))
		}
		texts := cells(row, brief)
		if t, err := time.Parse(time.RFC3339Nano, texts[0]); err == nil {
			texts[0] = t.Local().Format(clockLayout)
		}
		for i := range texts {
			if texts[i] == "" {
				texts[i] = "-"
			}
		}
		return line(texts)
	})
}

// minWidth is the minimum width of a column.
const minWidth = 12

// apiColumn is a column of a table of /api/v1.
type apiColumn struct{ Name, Type, Unit string }

// headings returns the names of columns with their units.
func headings(columns []apiColumn, safe func(string) string) []string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		if texts[i] = safe(c.Name); c.Unit != "" {
			texts[i] = safe(c.Name + " [" + c.Unit + "]")
		}
	}
	return texts
}

// cells returns the values of a row as texts. null becomes an empty text.
func cells(row []json.RawMessage, safe func(string) string) []string {
	texts := make([]string, len(row))
	for i, v := range row {
		if string(v) != "null" {
			if texts[i] = text(v); texts[i] != "" {
				texts[i] = safe(texts[i])
			}
		}
	}
	return texts
}

// readTable reads a table as it arrives.
func readTable(r io.Reader, begin func([]apiColumn) error, each func([]json.RawMessage) error) error {
	dec := json.NewDecoder(r)
	err := eachMember(dec, func(name string) error {
		switch name {
		case "columns":
			var columns []apiColumn
			if err := dec.Decode(&columns); err != nil {
				return err
			}
			if len(columns) == 0 {
				return errors.New("the table has no columns")
			}
			return begin(columns)
		case "rows":
			return eachElement(dec, func() error {
				var row []json.RawMessage
				if err := dec.Decode(&row); err != nil {
					return err
				}
				return each(row)
			})
		}
		return skip(dec)
	})
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return nil
}
