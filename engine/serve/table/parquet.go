package table

import (
	"io"
	"reflect"
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
}

func newParquet(out io.Writer, s *Schema) *parquetEncoder {
	options := []parquet.WriterOption{
		parquet.NewSchema("samples", newRoot(s.Columns)), parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest, Concurrency: 1}),
		parquet.PageBufferSize(pageBytes), parquet.DataPageStatistics(true), parquet.CreatedBy("varve", "1", ""),
	}
	w := parquet.NewGenericWriter[any](out, options...)
	for _, n := range s.Notes {
		w.SetKeyValueMetadata(n.Key, n.Value)
	}
	for _, c := range s.Columns {
		if c.Unit != "" {
			w.SetKeyValueMetadata("unit:"+c.Name, c.Unit)
		}
	}
	return &parquetEncoder{w: w}
}

// root is the group of all columns, in their order. The fields of a parquet.Group are sorted by name.
type root struct {
	parquet.Group
	fields []parquet.Field
}

func newRoot(columns []Column) *root {
	r := &root{}
	for _, c := range columns {
		r.fields = append(r.fields, &field{parquetNode(c), c.Name})
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
		v := &b.Columns[i]
		for from := 0; from < v.Len(); from += piece {
			e.values = e.values[:0]
			for row := from; row < min(from+piece, v.Len()); row++ {
				if v.column.Type == Floats && len(e.values) >= pageBytes/8 {
					if _, err := column.WriteRowValues(e.values); err != nil {
						return err
					}
					e.values = e.values[:0]
				}
				e.values = appendValues(e.values, v, row, i)
			}
			if _, err := column.WriteRowValues(e.values); err != nil {
				return err
			}
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

// appendValues appends the values of a row of leaf column i. A list has several.
func appendValues(dst []parquet.Value, v *Vector, row, i int) []parquet.Value {
	defined := 0
	if v.column.Nulls {
		if !v.Valid[row] {
			return append(dst, parquet.NullValue().Level(0, 0, i))
		}
		defined = 1
	}
	switch v.column.Type {
	case Float:
		return append(dst, parquet.DoubleValue(v.Floats[row]).Level(0, defined, i))
	case Word:
		return append(dst, textValue(v.Words[v.Codes[row]]).Level(0, defined, i))
	case Text:
		return append(dst, parquet.ByteArrayValue(v.Bytes[v.start(row):v.Ends[row]]).Level(0, defined, i))
	case Floats:
		return appendElements(dst, v.list(row), defined, i)
	}
	return append(dst, parquet.Int64Value(v.Ints[row]).Level(0, defined, i))
}

// appendElements appends the elements of a list. Its first element begins the row.
func appendElements(dst []parquet.Value, list []float64, defined, i int) []parquet.Value {
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
