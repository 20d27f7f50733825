package table

import (
	"slices"
	"unicode/utf8"
)

// Batch is rows of a table, as columns of equal length.
type Batch struct{ Columns []Vector }

// Vector is a column of a batch. Which fields hold the values depends on its type.
type Vector struct {
	// Ints has the values of types Time, Int and Uint.
	Ints []int64
	// Floats has the values of type Float, and the elements of type Floats.
	Floats []float64
	// Ends has the end of each value of type Text in Bytes, and of type Floats in Floats.
	Ends  []int
	Bytes []byte
	// Codes has the values of type Word, as indexes of Words.
	Codes []uint32
	Words []string
	// Valid says which rows have a value. It is used if the column has nulls.
	Valid []bool

	column Column
	codes  map[string]uint32
}

// Rows returns the number of rows. All columns must have the same number.
func (b *Batch) Rows() int { return b.Columns[0].Len() }

// bytes returns the size of the batch.
func (b *Batch) bytes() (size int) {
	for i := range b.Columns {
		v := &b.Columns[i]
		size += 8*(len(v.Ints)+len(v.Floats)+len(v.Ends)) + len(v.Bytes) + 4*len(v.Codes)
	}
	return size
}

// Len returns the number of rows.
func (v *Vector) Len() int {
	switch v.column.Type {
	case Time, Int, Uint:
		return len(v.Ints)
	case Float:
		return len(v.Floats)
	case Word:
		return len(v.Codes)
	}
	return len(v.Ends)
}

// valid marks n new rows as rows with a value, or without one.
func (v *Vector) valid(is bool, n int) {
	if v.column.Nulls {
		v.Valid = appendTimes(v.Valid, is, n)
	}
}

// appendTimes appends a value n times.
func appendTimes[T any](dst []T, value T, n int) []T {
	dst = slices.Grow(dst, n)
	for range n {
		dst = append(dst, value)
	}
	return dst
}

// AppendInt appends a value of type Time, Int or Uint.
func (v *Vector) AppendInt(i int64) {
	v.Ints = append(v.Ints, i)
	v.valid(true, 1)
}

// AppendInts appends values of type Time, Int or Uint.
func (v *Vector) AppendInts(all []int64) {
	v.Ints = append(v.Ints, all...)
	v.valid(true, len(all))
}

// AppendFloat appends a value of type Float.
func (v *Vector) AppendFloat(f float64) {
	v.Floats = append(v.Floats, f)
	v.valid(true, 1)
}

// AppendText appends a value of type Text. Bytes that are not UTF-8 become U+FFFD.
func (v *Vector) AppendText(text []byte) {
	if utf8.Valid(text) {
		v.Bytes = append(v.Bytes, text...)
	} else {
		for _, r := range string(text) {
			v.Bytes = utf8.AppendRune(v.Bytes, r)
		}
	}
	v.EndText()
}

// EndText appends a value of type Text: the bytes that were appended to Bytes since the value
// before. They must be UTF-8.
func (v *Vector) EndText() {
	v.Ends = append(v.Ends, len(v.Bytes))
	v.valid(true, 1)
}

// EndList appends a value of type Floats: the elements that were appended to Floats since the value
// before.
func (v *Vector) EndList() {
	v.Ends = append(v.Ends, len(v.Floats))
	v.valid(true, 1)
}

// AppendNull appends a row without a value.
func (v *Vector) AppendNull() {
	switch v.column.Type {
	case Time, Int, Uint:
		v.Ints = append(v.Ints, 0)
	case Float:
		v.Floats = append(v.Floats, 0)
	case Word:
		v.Codes = append(v.Codes, v.Code(""))
	case Text:
		v.Ends = append(v.Ends, len(v.Bytes))
	case Floats:
		v.Ends = append(v.Ends, len(v.Floats))
	}
	v.valid(false, 1)
}

// AppendWord appends n times a value of type Word.
func (v *Vector) AppendWord(word string, n int) {
	v.Codes = appendTimes(v.Codes, v.Code(word), n)
	v.valid(true, n)
}

// Code returns the index of a word in Words, and adds it if it is missing. It is valid for the
// current batch.
func (v *Vector) Code(word string) uint32 {
	code, found := v.codes[word]
	if !found {
		if v.codes == nil {
			v.codes = map[string]uint32{}
		}
		code = uint32(len(v.Words))
		v.codes[word] = code
		v.Words = append(v.Words, string([]rune(word))) // bytes that are not UTF-8 become U+FFFD
	}
	return code
}

// null reports whether row i has no value.
func (v *Vector) null(i int) bool { return v.column.Nulls && !v.Valid[i] }

// start returns where value i begins in Bytes or Floats.
func (v *Vector) start(i int) int {
	if i == 0 {
		return 0
	}
	return v.Ends[i-1]
}

// text returns value i of type Text or Word.
func (v *Vector) text(i int) string {
	if v.column.Type == Word {
		return v.Words[v.Codes[i]]
	}
	return string(v.Bytes[v.start(i):v.Ends[i]])
}

// list returns value i of type Floats.
func (v *Vector) list(i int) []float64 { return v.Floats[v.start(i):v.Ends[i]] }

// keptFloats is the number of elements of lists whose memory a vector keeps for the next batch, and
// keptBytes is that of bytes of texts.
const (
	keptFloats = 1 << 18
	keptBytes  = 2 << 20
)

// reset empties the vector. It frees the memory of unusually large values.
func (v *Vector) reset() {
	if cap(v.Floats) > keptFloats {
		v.Floats = nil
	}
	if cap(v.Bytes) > keptBytes {
		v.Bytes = nil
	}
	v.Ints, v.Floats, v.Ends, v.Bytes = v.Ints[:0], v.Floats[:0], v.Ends[:0], v.Bytes[:0]
	v.Codes, v.Words, v.Valid = v.Codes[:0], v.Words[:0], v.Valid[:0]
	clear(v.codes)
}
