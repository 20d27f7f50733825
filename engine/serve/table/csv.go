package table

import (
	"io"
	"strconv"
	"strings"

	"varve.dev/varve/engine/serve/value"
)

// csvEncoder writes CSV as RFC 4180 describes it, with a header. The header has the unit of a column
// in brackets: "SR:I [mA]". Times are in UTC. A row without a value has an empty cell.
type csvEncoder struct {
	out io.Writer
	buf []byte
	// cells has the cells of the words of each column of a batch.
	cells [][]string

	times  clock
	floats *value.Memo
}

func newCSV(out io.Writer, s *Schema) (*csvEncoder, error) {
	e := &csvEncoder{out: out, cells: make([][]string, len(s.Columns)), floats: value.NewMemo(&value.Text)}
	for i, c := range s.Columns {
		name := c.Name
		if c.Unit != "" {
			name += " [" + c.Unit + "]"
		}
		e.buf = append(e.separate(i), Cell(name)...)
	}
	return e, e.send()
}

// separate appends a comma before column i.
func (e *csvEncoder) separate(i int) []byte {
	if i > 0 {
		return append(e.buf, ',')
	}
	return e.buf
}

// send ends the row and writes the buffer.
func (e *csvEncoder) send() error {
	_, err := e.out.Write(append(e.buf, "\r\n"...))
	e.buf = e.buf[:0]
	return err
}

func (e *csvEncoder) write(b *Batch) error {
	for c := range b.Columns {
		e.cells[c] = e.cells[c][:0]
		for _, w := range b.Columns[c].Words {
			e.cells[c] = append(e.cells[c], Cell(w))
		}
	}
	for i := range b.Rows() {
		if i > 0 {
			e.buf = append(e.buf, "\r\n"...)
		}
		for c := range b.Columns {
			e.buf = e.separate(c)
			e.cell(c, &b.Columns[c], i)
		}
	}
	return e.send()
}

func (e *csvEncoder) cell(c int, v *Vector, i int) {
	if v.null(i) {
		return
	}
	switch v.column.Type {
	case Time:
		e.buf = e.times.append(e.buf, v.Ints[i])
	case Int:
		e.buf = strconv.AppendInt(e.buf, v.Ints[i], 10)
	case Uint:
		e.buf = strconv.AppendUint(e.buf, uint64(v.Ints[i]), 10)
	case Float:
		e.buf = e.floats.Float(e.buf, v.Floats[i])
	case Floats:
		e.list(v.list(i))
	case Word:
		e.buf = append(e.buf, e.cells[c][v.Codes[i]]...)
	case Text:
		e.buf = append(e.buf, Cell(v.text(i))...)
	}
}

// list appends a list as in JSON, except that the names of NaN and infinities have no quotes.
func (e *csvEncoder) list(list []float64) {
	e.buf = append(e.buf, `"[`...)
	for i, f := range list {
		e.buf = value.Text.Float(e.separate(i), f, 64)
	}
	e.buf = append(e.buf, `]"`...)
}

// note does nothing: a program would read a line after the last row as a row.
func (e *csvEncoder) note(Note) {}

func (e *csvEncoder) end() error { return nil }

// Cell returns a text as a cell of CSV. Spreadsheets take a text that begins with one of these
// characters for a formula, unless it is a number: it gets an apostrophe in front.
func Cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		if _, err := strconv.ParseFloat(s, 64); err != nil {
			s = "'" + s
		}
	}
	if strings.ContainsAny(s, ",\"\r\n") {
		s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}
