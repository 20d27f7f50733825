package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
)

// Binary formats of get. They are for programs and not for people.
const (
	arrowFormat   format = "arrow"
	parquetFormat format = "parquet"
)

var getFormats = append(formats[:len(formats):len(formats)], string(arrowFormat), string(parquetFormat))

// getFormat is the format of get.
type getFormat struct{ format }

// Set implements pflag.Value.
func (f *getFormat) Set(text string) error {
	lower := format(strings.ToLower(text))
	switch {
	case lower.isBinary():
		f.format = lower
		return nil
	case f.format.Set(text) == nil:
		return nil
	case filepath.Ext(text) != "":
		return fmt.Errorf("the formats are %s; to write a file, use --file %s", strings.Join(getFormats, ", "), text)
	}
	return fmt.Errorf("the formats are %s", strings.Join(getFormats, ", "))
}

func (f format) isBinary() bool { return f == arrowFormat || f == parquetFormat }

// byExtension returns the format of a file from its name, or "" if the name has no extension.
func byExtension(file string) (format, error) {
	ext := strings.TrimPrefix(filepath.Ext(file), ".")
	var f getFormat
	switch {
	case ext == "":
		return "", nil
	case ext == "txt":
		return tableFormat, nil
	case ext == string(tableFormat) || f.Set(ext) != nil:
		return "", fmt.Errorf("--file: %q ends in .%s, which says no format; the extensions are .csv, .json, .arrow, .parquet and .txt, "+
			"and --format is for other names", file, ext)
	}
	return f.format, nil
}

// write calls fill with the output: --file if it is given, and otherwise standard output. The file
// appears when it is complete; after an error nothing of it is left.
func (o *getOptions) write(cmd *cobra.Command, fill func(io.Writer) error) error {
	if o.file != "" {
		return writeWhole(o.file, fill)
	}
	if o.format.isBinary() && isScreen(cmd.OutOrStdout()) {
		return fmt.Errorf("--format %s is not for a terminal; write it to a file with --file NAME.%s", o.format.format, o.format.format)
	}
	return fill(cmd.OutOrStdout())
}

// chooseFormat takes the format from the name of --file, unless --format says it.
func (o *getOptions) chooseFormat(given func(flag string) bool) error {
	if given("format") {
		return nil
	}
	f, err := byExtension(o.file)
	if f != "" {
		o.format.format = f
	}
	return err
}

// writeWhole writes a file under another name in the same directory, and gives it its name when it is
// complete.
func writeWhole(name string, fill func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("--file: %s exists and is no regular file", name)
	}
	f, err := renameio.NewPendingFile(name, renameio.WithTempDir(filepath.Dir(name)), renameio.WithPermissions(0o666))
	if err != nil {
		return fmt.Errorf("--file: %w", err)
	}
	if err := fill(f); err != nil {
		return errors.Join(err, f.Cleanup())
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return errors.Join(fmt.Errorf("--file: %w", err), f.Cleanup())
	}
	return nil
}

// isScreen reports whether a person reads the output.
func isScreen(out io.Writer) bool {
	f, is := out.(*os.File)
	if !is {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// copyBinary copies one table of all PVs from the archive.
func (o *getOptions) copyBinary(cmd *cobra.Command, targets []target, span timeSpan, out io.Writer) (err error) {
	q := url.Values{"format": {string(o.format.format)}}
	for i := range targets {
		if targets[i].op != nil {
			return fmt.Errorf("%s: --format %s has stored samples; use table, csv or json for a post-processor", printable(targets[i].text), o.format.format)
		}
		q.Add("pv", targets[i].pv)
	}
	if o.last > 0 {
		if len(targets) > 1 {
			return fmt.Errorf("--last: with --format %s it takes one PV, and there are %d", o.format.format, len(targets))
		}
		if span, err = o.spanOfLast(cmd, targets[0].pv, span.to); err != nil {
			return o.explain(cmd, targets[0].pv, err)
		}
	}
	q.Set("from", utc(span.from))
	q.Set("to", utc(span.to))
	if o.align != "" {
		q.Set("align", o.align)
		q.Set("fill", o.fill)
	}
	if o.where != "" {
		q.Set("where", o.where)
	}
	resp, err := o.open(cmd, "/api/v1/samples?"+q.Encode())
	if err != nil {
		if len(targets) == 1 {
			err = o.explain(cmd, targets[0].pv, err)
		}
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(out, resp.Body); err != nil {
		return fmt.Errorf("reading the answer: %w", cmp.Or(cmd.Context().Err(), err))
	}
	warnOf(cmd.ErrOrStderr(), resp)
	return nil
}
