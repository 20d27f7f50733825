package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"varve.dev/varve/engine/migration/csvfile"
	"varve.dev/varve/engine/serve/request"
)

// csvOptions are the flags for CSV and other text.
type csvOptions struct {
	columns               map[string]string
	ignore, labels        []string
	separator, time, kind string
}

// Defaults of the flags.
const (
	csvSeparator = ","
	csvTime      = "rfc3339"
	csvType      = "float64"
)

func (o *csvOptions) addFlags(f *pflag.FlagSet) {
	f.StringToStringVar(&o.columns, "csv-columns", nil, "csv: names of columns in the files, such as time=t,value=v; or their numbers, such as time=1,value=2, if the files have no header")
	f.StringSliceVar(&o.ignore, "csv-ignore", nil, "csv: names of columns in the files to ignore")
	f.StringVar(&o.separator, "csv-separator", csvSeparator, "csv: the character between cells, or tab")
	f.StringVar(&o.time, "csv-time", csvTime, "csv: form of the times: rfc3339; seconds, milliseconds, microseconds or nanoseconds since 1970; or calendar, such as 03/23/2004 10:47:44.853")
	f.StringVar(&o.kind, "csv-type", csvType, "csv, channel-archiver: type of the values, such as int32, enum, string or float64[], unless there is a column type")
	f.StringSliceVar(&o.labels, "csv-labels", nil, "csv, channel-archiver: labels of the states of an enum, in their order")
}

// check returns an error if a flag is not one for the kind of the source.
func (o *csvOptions) check(from string) error {
	switch {
	case from != fromCSV && (len(o.columns) > 0 || len(o.ignore) > 0 || o.separator != csvSeparator || o.time != csvTime):
		return errors.New("--csv-columns, --csv-ignore, --csv-separator and --csv-time are for --from csv only")
	case from != fromCSV && from != fromText && (o.kind != csvType || len(o.labels) > 0):
		return errors.New("--csv-type and --csv-labels are for --from csv and channel-archiver only")
	}
	return nil
}

// open opens a file, or the files below a directory.
func (o *csvOptions) open(ctx context.Context, kind, from, zone string, want request.Matcher) (*importSource, error) {
	f, err := o.format(kind, zone)
	if err != nil {
		return nil, err
	}
	src, err := csvfile.Open(ctx, from, csvfile.Options{Format: f, Want: want})
	if err != nil {
		return nil, err
	}
	return &importSource{
		Source: src, skipped: src.Skipped, files: src.Count, size: src.Size, lines: "lines", things: "files or rows",
		workers: runtime.GOMAXPROCS(0), close: func() error { return nil },
	}, nil
}

// format returns the format that the flags describe.
func (o *csvOptions) format(kind, zone string) (f csvfile.Format, err error) {
	if f.Type, err = csvfile.ParseType(o.kind); err != nil {
		return f, fmt.Errorf("--csv-type: %w", err)
	}
	if zone != "" {
		if f.Zone, err = time.LoadLocation(zone); err != nil {
			return f, fmt.Errorf("--zone: %w", err)
		}
	}
	if kind == fromText {
		f = csvfile.ChannelArchiver(f.Zone, f.Type, o.labels)
		return f, f.Check()
	}
	f.Columns, f.Ignore, f.Labels = o.columns, o.ignore, o.labels
	if f.Time, err = csvfile.ParseTimeForm(o.time); err != nil {
		return f, fmt.Errorf("--csv-time: %w", err)
	}
	switch {
	case o.separator == "tab":
		f.Separator = '\t'
	case len(o.separator) == 1:
		f.Separator = o.separator[0]
	default:
		return f, fmt.Errorf("--csv-separator: %q is neither one character nor tab", o.separator)
	}
	return f, f.Check()
}
