package csvfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/sample"
)

// Format describes the files.
type Format struct {
	// Separator is between the cells of a line.
	Separator byte
	// Columns are the names of columns in the files, by their names here. If they are numbers, from 1 on, the files have no
	// header. A column that is not in the map has the same name in the files as here.
	Columns map[string]string
	// Ignore are names of columns in the files that are not read.
	Ignore []string
	// Time is the form of the times.
	Time TimeForm
	// Zone is the time zone of times that have none. It may be nil if there are none.
	Zone *time.Location
	// Type is the type of the values, unless there is a column type.
	Type sample.Type
	// Labels are the labels of enumerations. They may be empty.
	Labels []string
}

// The columns.
const (
	columnPV = iota
	columnTime
	columnValue
	columnSeverity
	columnStatus
	columnAlarm // severity and status in one cell
	columnType
	columnCount
)

var columnNames = [columnCount]string{"pv", "time", "value", "severity", "status", "alarm", "type"}

// ChannelArchiver returns the format of the text that ArchiveExport of the Channel Archiver writes for one channel.
func ChannelArchiver(zone *time.Location, t sample.Type, labels []string) Format {
	return Format{Separator: '\t', Columns: map[string]string{"time": "1", "value": "2", "alarm": "3"}, Time: Calendar, Zone: zone, Type: t, Labels: labels}
}

// Check returns an error if the format is not valid.
func (f *Format) Check() error {
	for name := range f.Columns {
		if !slices.Contains(columnNames[:], name) {
			return fmt.Errorf("there is no column %q: want %s", name, strings.Join(columnNames[:], ", "))
		}
	}
	switch {
	case f.Separator == '"' || f.Separator == '\n' || f.Separator == '\r' || f.Separator == '#':
		return fmt.Errorf("the separator %q is not possible", f.Separator)
	case f.Type.Elem() == sample.Struct || !f.Type.Valid():
		return fmt.Errorf("values of the type %v cannot be read", f.Type)
	case f.Time == Calendar && f.Zone == nil:
		return errors.New("the times are local times without a zone: give the zone in which the archiver ran, such as --zone Europe/Berlin")
	case f.Time != Calendar && f.Zone != nil:
		return errors.New("--zone is only for local times (--csv-time calendar)")
	}
	if !f.numbered() {
		return nil
	}
	_, err := f.fixed()
	return err
}

// numbered reports whether columns are given by their numbers.
func (f *Format) numbered() bool {
	for _, column := range f.Columns {
		if _, err := strconv.Atoi(column); err == nil {
			return true
		}
	}
	return false
}

// layout says where the columns of a file are.
type layout struct {
	at    [columnCount]int // number of each column, from 0 on, or -1
	cells int              // number of cells in a row
}

var noColumns = layout{at: [columnCount]int{-1, -1, -1, -1, -1, -1, -1}}

// maxColumns bounds the cells of a line.
const maxColumns = 1024

// fixed returns the layout of files without a header.
func (f *Format) fixed() (layout, error) {
	l := noColumns
	for name, column := range f.Columns {
		n, err := strconv.Atoi(column)
		if err != nil || n < 1 || n > maxColumns {
			return l, fmt.Errorf("column %s=%s: want a number from 1 to %d for each column, because another column has one", name, column, maxColumns)
		}
		l.at[slices.Index(columnNames[:], name)] = n - 1
		l.cells = max(l.cells, n)
	}
	return l, l.check()
}

// ofHeader returns the layout of a file with a header. All its columns must be known, so that none is left out by mistake.
func (f *Format) ofHeader(cells [][]byte) (layout, error) {
	l := noColumns
	l.cells = len(cells)
	for i, cell := range cells {
		name := string(bytes.TrimSpace(cell))
		if slices.Contains(f.Ignore, name) {
			continue
		}
		at := slices.IndexFunc(columnNames[:], func(own string) bool { return f.columnName(own) == name })
		switch {
		case at < 0:
			return l, fmt.Errorf("the header has the column %.100q, which is none of %s: name it in --csv-columns or in --csv-ignore", name, strings.Join(f.allNames(), ", "))
		case l.at[at] >= 0:
			return l, fmt.Errorf("the header has the column %s twice", name)
		}
		l.at[at] = i
	}
	return l, l.check()
}

// columnName returns the name of a column in the files.
func (f *Format) columnName(own string) string {
	if name, found := f.Columns[own]; found {
		return name
	}
	return own
}

func (f *Format) allNames() (out []string) {
	for _, own := range columnNames {
		out = append(out, f.columnName(own))
	}
	return out
}

func (l *layout) check() error {
	for _, needed := range []int{columnTime, columnValue} {
		if l.at[needed] < 0 {
			return fmt.Errorf("there is no column for the %s: name it in --csv-columns", columnNames[needed])
		}
	}
	if l.at[columnAlarm] >= 0 && (l.at[columnSeverity] >= 0 || l.at[columnStatus] >= 0) {
		return errors.New("the column alarm contains the severity and the status: remove the columns severity and status")
	}
	used := map[int]bool{}
	for _, n := range l.at {
		if n >= 0 && used[n] {
			return fmt.Errorf("column %d has two meanings", n+1)
		}
		used[n] = true
	}
	return nil
}

// width returns the number of cells that a row must have at least.
func (l *layout) width() int { return 1 + slices.Max(l.at[:columnSeverity]) }

// ParseType returns the type with a name such as float64 or int32[].
func ParseType(name string) (sample.Type, error) {
	elem, array := strings.CutSuffix(name, "[]")
	for t := sample.Bool; t < sample.Struct; t++ {
		if t.String() == elem {
			if array {
				t = t.Array()
			}
			return t, nil
		}
	}
	return sample.Unknown, fmt.Errorf("%.100q is not a type such as float64, int32, enum, string or float64[]", name)
}
