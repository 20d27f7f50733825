package table

import (
	"io"
	"reflect"
	"slices"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	// groupRows and groupBytes bound a row group before it is encoded. A day of samples, one per
	// second, is one row group.
	groupRows  = 128 << 10
	groupBytes = 8 << 20
	// pageBytes bounds a page before it is encoded. Readers of a short range read whole pages.
	pageBytes = 256 << 10
)

// parquetEncoder writes a Parquet file: times as deltas, floats as streams of bytes, words as a
// dictionary, all compressed with zstd. The same rows always become the same bytes.
type parquetEncoder struct {
	w           *parquet.GenericWriter[any]
	rows, bytes int // in the row group
	values      []parquet.Value
	columns     []parquetColumn
}

// parquetColumn is a leaf column.
type parquetColumn struct {
	node  parquet.Node
	words *words // of a column of words without nulls
}

func newParquet(out io.Writer, s *Schema) *parquetEncoder {
	columns := make([]parquetColumn, len(s.Columns))
	for i, c := range s.Columns {
		columns[i] = newParquetColumn(c)
	}
	options := []parquet.WriterOption{
		parquet.NewSchema("samples", newRoot(s.Columns, columns)), parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest, Concurrency: 1}),
		parquet.PageBufferSize(pageBytes), parquet.DataPageStatistics(true), parquet.CreatedBy("varve", "1", ""),
	}
	w := parquet.NewGenericWriter[any](out, options...)
	for _, n := range slices.Concat(s.Notes, s.Origin) {
		w.SetKeyValueMetadata(n.Key, n.Value)
	}
	for _, c := range s.Columns {
		if c.Unit != "" {
			w.SetKeyValueMetadata("unit:"+c.Name, c.Unit)
		}
		if len(c.Labels) > 0 {
			w.SetKeyValueMetadata("labels:"+c.Name, labelList(c.Labels))
		}
	}
	return &parquetEncoder{w: w, columns: columns}
}

// root is the group of all columns, in their order. The fields of a parquet.Group are sorted by name.
type root struct {
	parquet.Group
	fields []parquet.Field
}

func newRoot(columns []Column, as []parquetColumn) *root {
	r := &root{}
	for i, c := range columns {
		r.fields = append(r.fields, &field{as[i].node, c.Name})
	}
	return r
}

func (r *root) Fields() []parquet.Field { return r.fields }

// GoType is not used, because rows are written as columns. The names of columns may be no names of
// fields in Go.
func (r *root) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }

// field is a column with its name.
type field struct {
	parquet.Node
	name string
}

func (f *field) Name() string { return f.name }

// Value is not used, as GoType of root.
func (f *field) Value(reflect.Value) reflect.Value { return reflect.Value{} }

func newParquetColumn(c Column) parquetColumn {
	if c.Type == Word && !c.Nulls {
		w := &words{}
		return parquetColumn{parquet.Encoded(parquet.Leaf(wordsType{parquet.String().Type(), w}), &parquet.RLEDictionary), w}
	}
	return parquetColumn{node: parquetNode(c)}
}

func parquetNode(c Column) parquet.Node {
	float := parquet.Encoded(parquet.Leaf(parquet.DoubleType), &parquet.ByteStreamSplit)
	n := float
	switch c.Type {
	case Time:
		n = parquet.Encoded(parquet.Timestamp(parquet.Nanosecond), &parquet.DeltaBinaryPacked)
	case Int:
		n = parquet.Encoded(parquet.Int(64), &parquet.DeltaBinaryPacked)
	case Uint:
		n = parquet.Encoded(parquet.Uint(64), &parquet.DeltaBinaryPacked)
	case Text:
		n = parquet.Encoded(parquet.String(), &parquet.DeltaLengthByteArray)
	case Word:
		n = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case Floats:
		n = parquet.List(float)
	}
	if c.Nulls {
		n = parquet.Optional(n)
	}
	return n
}

// piece is the number of rows that are written to a column at a time, because a column makes a new
// page only between pieces.
const piece = 1024

func (e *parquetEncoder) write(b *Batch) error {
	for i, column := range e.w.ColumnWriters() {
		if err := e.writeColumn(column, &b.Columns[i], i); err != nil {
			return err
		}
	}
	if cap(e.values) > keptFloats {
		e.values = nil
	}
	e.rows, e.bytes = e.rows+b.Rows(), e.bytes+b.bytes()
	if e.rows < groupRows && e.bytes < groupBytes {
		return nil
	}
	e.rows, e.bytes = 0, 0
	return e.w.Flush()
}

// writeColumn writes leaf column i of a batch, piece by piece.
func (e *parquetEncoder) writeColumn(column *parquet.ColumnWriter, v *Vector, i int) error {
	var texts []parquet.Value
	switch w := e.columns[i].words; {
	case w != nil:
		w.begin(v)
	case v.column.Type == Word:
		for _, text := range v.Words {
			texts = append(texts, textValue(text))
		}
	}
	for from := 0; from < v.Len(); from += piece {
		if err := e.writePiece(column, v, from, min(from+piece, v.Len()), i, texts); err != nil {
			return err
		}
	}
	return nil
}

// writePiece writes rows of leaf column i. texts are the words of the batch.
func (e *parquetEncoder) writePiece(column *parquet.ColumnWriter, v *Vector, from, to, i int, texts []parquet.Value) error {
	if w := e.columns[i].words; w != nil {
		return w.put(column, v.Codes[from:to])
	}
	if v.column.Type == Floats {
		return e.writeLists(column, v, from, to, i)
	}
	e.values = appendScalars(e.values[:0], v, from, to, texts)
	if v.column.Nulls {
		setLevels(e.values, v.Valid[from:to], i)
	}
	_, err := column.WriteRowValues(e.values)
	return err
}

// appendScalars appends the values of rows. The values have no level and no column, which only
// columns with nulls need: Level takes longer than all the rest.
func appendScalars(dst []parquet.Value, v *Vector, from, to int, words []parquet.Value) []parquet.Value {
	switch v.column.Type {
	case Float:
		for _, f := range v.Floats[from:to] {
			dst = append(dst, parquet.DoubleValue(f))
		}
	case Word:
		for _, code := range v.Codes[from:to] {
			dst = append(dst, words[code])
		}
	case Text:
		for row := from; row < to; row++ {
			dst = append(dst, parquet.ByteArrayValue(v.Bytes[v.start(row):v.Ends[row]]))
		}
	default:
		for _, n := range v.Ints[from:to] {
			dst = append(dst, parquet.Int64Value(n))
		}
	}
	return dst
}

// setLevels sets the levels of the values of rows of leaf column i, which has nulls.
func setLevels(values []parquet.Value, valid []bool, i int) {
	for k, is := range valid {
		if is {
			values[k] = values[k].Level(0, 1, i)
		} else {
			values[k] = parquet.NullValue().Level(0, 0, i)
		}
	}
}

// writeLists writes lists. A piece with many elements is written in parts.
func (e *parquetEncoder) writeLists(column *parquet.ColumnWriter, v *Vector, from, to, i int) error {
	e.values = e.values[:0]
	for row := from; row < to; row++ {
		if len(e.values) >= pageBytes/8 {
			if _, err := column.WriteRowValues(e.values); err != nil {
				return err
			}
			e.values = e.values[:0]
		}
		e.values = appendElements(e.values, v, row, i)
	}
	_, err := column.WriteRowValues(e.values)
	return err
}

// appendElements appends the elements of the list in a row of leaf column i. Its first element begins
// the row.
func appendElements(dst []parquet.Value, v *Vector, row, i int) []parquet.Value {
	defined := 0
	if v.column.Nulls {
		if !v.Valid[row] {
			return append(dst, parquet.NullValue().Level(0, 0, i))
		}
		defined = 1
	}
	list := v.list(row)
	if len(list) == 0 {
		return append(dst, parquet.NullValue().Level(0, defined, i))
	}
	for k, f := range list {
		dst = append(dst, parquet.DoubleValue(f).Level(min(k, 1), defined+1, i))
	}
	return dst
}

func textValue(s string) parquet.Value {
	return parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s)))
}

func (e *parquetEncoder) note(n Note) { e.w.SetKeyValueMetadata(n.Key, n.Value) }

func (e *parquetEncoder) end() error { return e.w.Close() }
