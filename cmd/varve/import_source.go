package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/migration/rdb"
	"varve.dev/varve/engine/serve/request"
)

// importSource is a source, and what the output says about it.
type importSource struct {
	migration.Source
	skipped       []migration.Skipped
	files, size   int64  // number of files, and their bytes; 0 if the source has none
	lines, things string // what is damaged, and what is skipped
	workers       int    // how many PVs are read at a time
	close         func() error
}

// rdbOptions are the flags for an RDB archiver.
type rdbOptions struct {
	passwordFile, zone string
	rounded            bool
}

func (o *rdbOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.passwordFile, "password-file", "", "rdb: file with the password of the database")
	f.StringVar(&o.zone, "zone", "", "rdb, csv, channel-archiver: time zone of the archiver, such as Europe/Berlin, if the times in the source are local")
	f.BoolVar(&o.rounded, "rounded-seconds", false, "rdb: the seconds in smpl_time were rounded, not cut off, as by MySQL before Phoebus cut them off (2022)")
}

// The kinds of sources.
const (
	fromFiles     = "appliance-files"
	fromHTTP      = "appliance-http"
	fromRDB       = "rdb"
	fromCassandra = "cassandra-archiver"
	fromCSV       = "csv"
	fromText      = "channel-archiver"
)

// checkSource returns an error if a flag is not one for the kind of the source.
func (o *importOptions) checkSource() error {
	switch o.from {
	case fromFiles, fromHTTP, fromRDB, fromCassandra, fromCSV, fromText:
	default:
		return fmt.Errorf("--from: %q is none of %s, %s, %s, %s, %s and %s", o.from, fromFiles, fromHTTP, fromRDB, fromCassandra, fromCSV, fromText)
	}
	text := o.from == fromCSV || o.from == fromText
	switch {
	case o.from != fromRDB && (o.rdb.passwordFile != "" || o.rdb.rounded):
		return errors.New("--password-file and --rounded-seconds are for --from rdb only")
	case o.from != fromRDB && !text && o.rdb.zone != "":
		return errors.New("--zone is for --from rdb, csv and channel-archiver only")
	}
	if err := o.remote.check(o.from); err != nil {
		return err
	}
	return o.csv.check(o.from)
}

// source opens the source.
func (o *importOptions) source(ctx context.Context, from string, want request.Matcher) (*importSource, error) {
	switch o.from {
	case fromRDB:
		return o.rdb.open(ctx, from, want)
	case fromHTTP:
		return o.remote.openHTTP(ctx, from, want, o.pvs.names())
	case fromCassandra:
		return o.remote.openCassandra(ctx, from, want)
	case fromCSV, fromText:
		return o.csv.open(ctx, o.from, from, o.rdb.zone, want)
	}
	if info, err := os.Stat(from); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory with files of an Archiver Appliance", from)
	}
	tree, err := migration.Scan(ctx, from, want)
	if err != nil {
		return nil, err
	}
	return &importSource{
		Source: tree, skipped: tree.Skipped, files: tree.Count, size: tree.Size, lines: "lines", things: "files or directories",
		workers: runtime.GOMAXPROCS(0), close: func() error { return nil },
	}, nil
}

// maxReaders bounds how many PVs are read from a database at a time. Each needs up to three connections.
const maxReaders = 4

func (o *rdbOptions) open(ctx context.Context, url string, want request.Matcher) (*importSource, error) {
	opts := rdb.Options{URL: url, RoundedSeconds: o.rounded, Want: want}
	if o.passwordFile != "" {
		b, err := os.ReadFile(o.passwordFile)
		if err != nil {
			return nil, fmt.Errorf("--password-file: %w", err)
		}
		opts.Password = strings.TrimRight(string(b), "\r\n")
	}
	if o.zone != "" {
		var err error
		if opts.Zone, err = time.LoadLocation(o.zone); err != nil {
			return nil, fmt.Errorf("--zone: %w", err)
		}
	}
	db, err := rdb.Open(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &importSource{Source: db, skipped: db.Skipped, lines: "rows", things: "channels", workers: min(runtime.GOMAXPROCS(0), maxReaders), close: db.Close}, nil
}
