package table

import (
	"fmt"
	"math"
	"slices"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
)

// The columns of a long table.
const (
	longPV = iota
	longTime
	longValue
	longLabel
	longUnits
	longSeverity
	longStatus
)

// LongColumns returns the columns of a long table, whose values have a type. label is the state of
// an enumeration, and empty for other values.
func LongColumns(values Type) []Column {
	return []Column{
		longPV:   {Name: "pv", Type: Word},
		longTime: {Name: "time", Type: Time}, longValue: {Name: "value", Type: values},
		longLabel: {Name: "label", Type: Word}, longUnits: {Name: "units", Type: Word},
		longSeverity: {Name: "severity", Type: Word}, longStatus: {Name: "status", Type: Word},
	}
}

// ValueType returns the type of a column that holds samples of all given types: a number if all are
// numbers or enumerations, a list if all are arrays of numbers, and otherwise text. In a text, a
// value that is no string is in JSON.
func ValueType(types []sample.Type) Type {
	all := func(is func(sample.Type) bool) bool {
		return !slices.ContainsFunc(types, func(t sample.Type) bool { return !is(t) })
	}
	if len(types) == 0 {
		return Float
	}
	for _, t := range []Type{Int, Uint, Float, Floats} {
		if all(fits(t)) {
			return t
		}
	}
	return Text
}

// fits returns whether samples of a type fit into a column. 64-bit integers fit into a column of
// floats, except for those that a float cannot hold.
func fits(column Type) func(sample.Type) bool {
	return func(t sample.Type) bool {
		switch column {
		case Int:
			return t.Fixed() && t != sample.Uint64 && t != sample.Float32 && t != sample.Float64
		case Uint:
			return t == sample.Bool || t == sample.Uint8 || t == sample.Uint16 || t == sample.Uint32 || t == sample.Uint64 || t == sample.Enum
		case Float:
			return t.Fixed()
		case Floats:
			return t.IsArray() && t.ElemSize() > 0
		}
		return true
	}
}

// TypeError is the error about samples that do not fit into the column of values.
type TypeError struct {
	PV   string
	Type sample.Type
}

// Error implements error.
func (e *TypeError) Error() string {
	return fmt.Sprintf("%s has samples of type %s, which do not fit into the column of values", e.PV, e.Type)
}

// Long appends the samples of PVs to a long table.
type Long struct {
	w   *Writer
	typ Type // of the values
}

// NewLong returns a Long that appends to a table with LongColumns.
func NewLong(w *Writer) *Long { return &Long{w, w.Batch.Columns[longValue].column.Type} }

// Description has the units of a PV, and the labels of the states of an enumeration.
type Description struct {
	Units  string
	Labels []string
}

// Append appends samples of a PV. It returns TypeError if they do not fit, and then the table must
// not be used any more.
func (l *Long) Append(pv string, d *Description, r *sample.Run) error {
	if !fits(l.typ)(r.Type) {
		return &TypeError{pv, r.Type}
	}
	for from := 0; from < r.Len(); {
		to := l.part(r, from)
		if err := l.appendPart(pv, d, r, from, to); err != nil {
			return err
		}
		if err := l.w.FlushFull(); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// part returns the end of the samples that are appended before the batch is checked again. A large
// value is appended alone.
func (l *Long) part(r *sample.Run, from int) int {
	if r.Type.Fixed() {
		return min(r.Len(), from+batchRows-l.w.Batch.Rows())
	}
	to, size := from, 0
	for to < min(r.Len(), from+batchRows-l.w.Batch.Rows()) && size < batchBytes/8 {
		size += len(r.Value(to))
		to++
	}
	return to
}

func (l *Long) appendPart(pv string, d *Description, r *sample.Run, from, to int) error {
	c := l.w.Batch.Columns
	c[longPV].AppendWord(pv, to-from)
	c[longUnits].AppendWord(d.Units, to-from)
	c[longTime].AppendInts(r.Times[from:to])
	l.appendLabels(d, r, from, to)
	l.appendTags(r.Tags[from:to])
	return l.appendValues(pv, r, from, to)
}

func (l *Long) appendLabels(d *Description, r *sample.Run, from, to int) {
	c := &l.w.Batch.Columns[longLabel]
	if r.Type != sample.Enum {
		c.AppendWord("", to-from)
		return
	}
	for i := from; i < to; {
		w, j := r.Words[i], i+1
		for j < to && r.Words[j] == w {
			j++
		}
		label := ""
		if w < uint64(len(d.Labels)) {
			label = d.Labels[w]
		}
		c.AppendWord(label, j-i)
		i = j
	}
}

// appendTags appends severities and statuses. Consecutive samples mostly have the same.
func (l *Long) appendTags(tags []sample.Tag) {
	severities, statuses := &l.w.Batch.Columns[longSeverity], &l.w.Batch.Columns[longStatus]
	for i := 0; i < len(tags); {
		j := i + 1
		for j < len(tags) && tags[j].SameAlarm(tags[i]) {
			j++
		}
		severities.AppendWord(tags[i].Severity().String(), j-i)
		statuses.AppendWord(tags[i].StatusName(), j-i)
		i = j
	}
}

func (l *Long) appendValues(pv string, r *sample.Run, from, to int) error {
	v := &l.w.Batch.Columns[longValue]
	switch l.typ {
	case Int, Uint:
		v.Ints = slices.Grow(v.Ints, to-from)
		for _, w := range r.Words[from:to] {
			v.Ints = append(v.Ints, int64(w))
		}
		v.valid(true, to-from)
	case Float:
		return l.appendFloats(pv, r, from, to)
	case Floats:
		for i := from; i < to; i++ {
			if err := l.appendElements(pv, r, i); err != nil {
				return err
			}
		}
	case Text:
		for i := from; i < to; i++ {
			l.appendText(r, i)
		}
	}
	return nil
}

// appendFloats appends numbers. Most PVs have doubles, which need no conversion.
func (l *Long) appendFloats(pv string, r *sample.Run, from, to int) error {
	v := &l.w.Batch.Columns[longValue]
	v.Floats = slices.Grow(v.Floats, to-from)
	v.valid(true, to-from)
	if r.Type == sample.Float64 {
		for _, w := range r.Words[from:to] {
			v.Floats = append(v.Floats, math.Float64frombits(w))
		}
		return nil
	}
	for i, w := range r.Words[from:to] {
		f, exact := exactFloat(r.Type, w)
		if !exact {
			return fmt.Errorf("%w of floats without rounding: %s", &TypeError{pv, r.Type}, value.Quoted.Append(nil, r, from+i))
		}
		v.Floats = append(v.Floats, f)
	}
	return nil
}

func (l *Long) appendText(r *sample.Run, i int) {
	v := &l.w.Batch.Columns[longValue]
	if r.Type == sample.String {
		v.AppendText(r.Value(i))
		return
	}
	v.Bytes = value.Quoted.Append(v.Bytes, r, i)
	v.EndText()
}

func (l *Long) appendElements(pv string, r *sample.Run, i int) error {
	v, b := &l.w.Batch.Columns[longValue], r.Value(i)
	for k := range len(b) / r.Type.ElemSize() {
		w := sample.Word(r.Type, b, k)
		f, exact := exactFloat(r.Type.Elem(), w)
		if !exact {
			return fmt.Errorf("%w of floats without rounding", &TypeError{pv, r.Type})
		}
		v.Floats = append(v.Floats, f)
	}
	v.EndList()
	return nil
}

// maxExact is the largest integer up to which a float holds all integers.
const maxExact = 1 << 53

// exactFloat returns a word as a float, and whether they are equal.
func exactFloat(t sample.Type, w uint64) (float64, bool) {
	switch t {
	case sample.Int64:
		return float64(int64(w)), int64(w) <= maxExact && int64(w) >= -maxExact
	case sample.Uint64:
		return float64(w), w <= maxExact
	}
	return sample.Float(t, w), true
}
