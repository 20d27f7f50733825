package files

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"varve.dev/varve/engine/pvname"
)

const (
	dayLayout = "2006-01-02"
	extension = ".parquet"
	// prefix is the path of all files.
	prefix = "/api/v1/files/"
)

// day is a day in UTC.
type day struct{ start time.Time }

// dayOf returns the day of a time in ns since 1970.
func dayOf(ns int64) day { return day{time.Unix(0, ns).UTC().Truncate(24 * time.Hour)} }

// from and to are the first and the last instant, in ns since 1970.
func (d day) from() int64 { return d.start.UnixNano() }
func (d day) to() int64   { return d.end() - 1 }

// end is the first instant after the day, in ns since 1970.
func (d day) end() int64 { return d.start.Add(24 * time.Hour).UnixNano() }

func (d day) String() string { return d.start.Format(dayLayout) }

// key names a file. pv is canonical. hidden means that the client may not read the PV, so that there is no
// such file for it.
type key struct {
	pv     string
	day    day
	hidden bool
	// names are the names under which the samples are stored, separated by spaces, or empty for the PV's own. Readers may know
	// different former names of a PV.
	names string
}

// url returns the path of the file. A slash in the name of the PV is escaped.
func (k key) url() string { return prefix + url.PathEscape(k.pv) + "/" + k.day.String() + extension }

// errNoFile is the error for a path that names no file.
var errNoFile = errors.New("a file is named PV/DAY.parquet, such as " + prefix + "SR:I/2026-01-31.parquet; " +
	"/api/v1/files?pv=SR:I lists the files of a PV")

// parseKey parses the path of a file after the prefix. The name of a PV may have slashes.
func parseKey(path string) (key, error) {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 || !strings.HasSuffix(path, extension) {
		return key{}, errNoFile
	}
	text := strings.TrimSuffix(path[i+1:], extension)
	start, err := time.Parse(dayLayout, text)
	switch {
	case err != nil:
		return key{}, fmt.Errorf("%.100q is not a day; write it like 2026-01-31", text)
	case start.Year() < 1901 || start.Year() > 2199:
		return key{}, fmt.Errorf("year %d is not in the range 1901 to 2199", start.Year())
	}
	pv, err := parseName(path[:i])
	return key{pv: pv, day: day{start}}, err
}

// parseName returns the canonical name of a PV.
func parseName(text string) (string, error) {
	switch pv := pvname.Canonical(text); {
	case pv == "":
		return "", errors.New("the name of a PV is required")
	case strings.ContainsFunc(pv, unicode.IsControl):
		return "", errors.New("the name of a PV has no control characters")
	default:
		return pv, nil
	}
}
