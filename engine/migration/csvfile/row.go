package csvfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"varve.dev/varve/engine/sample"
)

// row is the content of a line.
type row struct {
	t sample.Type
	s sample.Sample
	// state says that the row is a mark of a kind instead of a sample.
	state bool
	kind  sample.MarkKind
	// repeat says that the row only repeats the value of the row before.
	repeat bool
}

// noValue is the text that ArchiveExport of the Channel Archiver writes instead of a value.
const noValue = "#N/A"

// parseRow reads the cells of a row. The result does not keep them.
func (f *Format) parseRow(l *layout, cells [][]byte) (r row, err error) {
	if err := l.checkWidth(cells); err != nil {
		return r, err
	}
	if r.s.Time, err = f.parseTime(l.cell(cells, columnTime)); err != nil {
		return r, err
	}
	severity, status := l.cell(cells, columnSeverity), l.cell(cells, columnStatus)
	if alarm := l.cell(cells, columnAlarm); alarm != "" {
		if r.repeat = isRepeat(alarm); r.repeat {
			return r, nil
		}
		severity, status, _ = strings.Cut(alarm, " ")
	}
	value := string(cells[l.at[columnValue]])
	if value == "" || value == noValue {
		kind, err := stateOf(severity, status)
		if err == nil || value == noValue || !f.isText(l, cells) {
			r.state, r.kind = true, kind
			return r, err
		}
	}
	if r.s.Tag, err = parseAlarm(severity, status); err != nil {
		return r, err
	}
	if r.t = f.Type; l.at[columnType] >= 0 {
		if r.t, err = ParseType(l.cell(cells, columnType)); err != nil {
			return r, err
		}
	}
	return r, f.parseValue(&r.s, r.t, value)
}

// checkWidth refuses a row that lacks cells of columns, or has more cells than there are columns.
func (l *layout) checkWidth(cells [][]byte) error {
	if len(cells) < l.width() {
		return fmt.Errorf("the row has %d cells: want at least %d", len(cells), l.width())
	}
	if n := len(cells); n > l.cells+1 || n > l.cells && len(cells[l.cells]) > 0 { // ArchiveExport may end rows with a separator
		return fmt.Errorf("the row has %d cells, more than the columns", len(cells))
	}
	return nil
}

// stateOf returns the kind of the mark of a row without a value.
func stateOf(texts ...string) (sample.MarkKind, error) {
	for _, text := range texts {
		if kind, found := states[strings.ToLower(text)]; found {
			return kind, nil
		}
	}
	return 0, errors.New("the row has no value, and its severity or status is none of Disconnected, Archive_Off and Archive_Disabled")
}

// isText reports whether the value of a row is a string, which may be empty.
func (f *Format) isText(l *layout, cells [][]byte) bool {
	if l.at[columnType] >= 0 {
		return l.cell(cells, columnType) == sample.String.String()
	}
	return f.Type == sample.String
}

// cell returns a cell without spaces around it, or "" if the row does not have it.
func (l *layout) cell(cells [][]byte, column int) string {
	if n := l.at[column]; n >= 0 && n < len(cells) {
		return string(bytes.TrimSpace(cells[n]))
	}
	return ""
}
