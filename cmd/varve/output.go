package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
)

// format is a flag with the format of the output.
type format string

// The formats of get and status.
const (
	tableFormat format = "table"
	csvFormat   format = "csv"
	jsonFormat  format = "json"
)

var formats = []string{string(tableFormat), string(csvFormat), string(jsonFormat)}

// String implements pflag.Value.
func (f *format) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *format) Set(text string) error {
	lower := strings.ToLower(text)
	if !slices.Contains(formats, lower) {
		return fmt.Errorf("the formats are %s", strings.Join(formats, ", "))
	}
	*f = format(lower)
	return nil
}

// Type implements pflag.Value.
func (f *format) Type() string { return "format" }

// printable escapes characters that a terminal would obey instead of showing.
func printable(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if !unprintable(r) {
			out.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}

func unprintable(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }

// table returns a writer that aligns columns.
func table(out io.Writer, columns ...string) *tabwriter.Writer {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	return w
}

// csvWriter writes CSV as RFC 4180 describes it. It keeps line breaks in cells as they are;
// encoding/csv changes them if rows end in CRLF.
type csvWriter struct{ w *bufio.Writer }

func newCSV(w io.Writer) *csvWriter { return &csvWriter{bufio.NewWriter(w)} }

// row writes a row. It returns the first error of all rows.
func (c *csvWriter) row(cells ...string) error {
	for i, cell := range cells {
		if i > 0 {
			_ = c.w.WriteByte(',')
		}
		if strings.ContainsAny(cell, ",\"\r\n") {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		_, _ = c.w.WriteString(cell)
	}
	_, err := c.w.WriteString("\r\n")
	return err
}

// flush writes what is buffered, and returns the first error.
func (c *csvWriter) flush() error { return c.w.Flush() }

// safeCell returns a text for a cell of CSV. Spreadsheets take a text that begins with one of
// these characters for a formula, unless it is a number.
func safeCell(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}
