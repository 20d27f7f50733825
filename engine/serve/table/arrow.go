package table

import (
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// arrowEncoder writes an Arrow IPC stream, without compression: the HTTP server compresses it for
// clients that ask for it. Words are dictionaries, which a batch replaces if its words differ.
type arrowEncoder struct {
	w      *ipc.Writer
	schema *arrow.Schema
}

var wordType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.String}

func newArrow(out io.Writer, s *Schema) *arrowEncoder {
	fields := make([]arrow.Field, len(s.Columns))
	for i, c := range s.Columns {
		fields[i] = arrow.Field{Name: c.Name, Type: arrowType(c.Type), Nullable: c.Nulls}
		fields[i].Metadata = fieldMetadata(&c)
	}
	var keys, values []string
	for _, n := range slices.Concat(s.Notes, s.Origin) {
		keys, values = append(keys, n.Key), append(values, n.Value)
	}
	notes := arrow.NewMetadata(keys, values)
	schema := arrow.NewSchema(fields, &notes)
	return &arrowEncoder{ipc.NewWriter(out, ipc.WithSchema(schema)), schema}
}

// fieldMetadata returns the unit of a column and the names of its states.
func fieldMetadata(c *Column) arrow.Metadata {
	var keys, values []string
	if c.Unit != "" {
		keys, values = append(keys, "unit"), append(values, c.Unit)
	}
	if len(c.Labels) > 0 {
		keys, values = append(keys, "labels"), append(values, labelList(c.Labels))
	}
	return arrow.NewMetadata(keys, values)
}

func arrowType(t Type) arrow.DataType {
	switch t {
	case Time:
		return &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
	case Int:
		return arrow.PrimitiveTypes.Int64
	case Uint:
		return arrow.PrimitiveTypes.Uint64
	case Float:
		return arrow.PrimitiveTypes.Float64
	case Word:
		return wordType
	case Floats:
		return arrow.ListOfNonNullable(arrow.PrimitiveTypes.Float64)
	}
	return arrow.BinaryTypes.String
}

// write writes a record batch. The batch shares the memory of the columns, because the stream writer
// keeps none of it; only dictionaries are copied, because it compares them with the next ones.
func (e *arrowEncoder) write(b *Batch) error {
	columns := make([]arrow.Array, len(b.Columns))
	for i := range b.Columns {
		data := e.data(&b.Columns[i], e.schema.Field(i).Type)
		columns[i] = array.MakeFromData(data)
		data.Release()
		defer columns[i].Release()
	}
	record := array.NewRecordBatch(e.schema, columns, int64(b.Rows()))
	defer record.Release()
	return e.w.Write(record)
}

func (e *arrowEncoder) data(v *Vector, t arrow.DataType) *array.Data {
	valid, nulls := validity(v)
	n := v.Len()
	switch v.column.Type {
	case Float:
		return plain(t, n, valid, arrow.Float64Traits.CastToBytes(v.Floats), nulls)
	case Text:
		return array.NewData(t, n, []*memory.Buffer{valid, offsets(v.Ends), memory.NewBufferBytes(v.Bytes)}, nil, nulls, 0)
	case Word:
		dict := stringData(v.Words)
		defer dict.Release()
		codes := memory.NewBufferBytes(arrow.Uint32Traits.CastToBytes(v.Codes))
		return array.NewDataWithDictionary(t, n, []*memory.Buffer{valid, codes}, nulls, 0, dict)
	case Floats:
		elements := plain(arrow.PrimitiveTypes.Float64, len(v.Floats), nil, arrow.Float64Traits.CastToBytes(v.Floats), 0)
		defer elements.Release()
		return array.NewData(t, n, []*memory.Buffer{valid, offsets(v.Ends)}, []arrow.ArrayData{elements}, nulls, 0)
	}
	return plain(t, n, valid, arrow.Int64Traits.CastToBytes(v.Ints), nulls)
}

func plain(t arrow.DataType, n int, valid *memory.Buffer, values []byte, nulls int) *array.Data {
	return array.NewData(t, n, []*memory.Buffer{valid, memory.NewBufferBytes(values)}, nil, nulls, 0)
}

// validity returns the bits of the rows with a value, or nil if all have one.
func validity(v *Vector) (bits *memory.Buffer, nulls int) {
	for _, is := range v.Valid {
		if !is {
			nulls++
		}
	}
	if nulls == 0 {
		return nil, 0
	}
	out := make([]byte, bitutil.BytesForBits(int64(len(v.Valid))))
	for i, is := range v.Valid {
		bitutil.SetBitTo(out, i, is)
	}
	return memory.NewBufferBytes(out), nulls
}

// offsets returns the offsets of values of variable size. The bound of a batch keeps them within 31
// bits.
func offsets(ends []int) *memory.Buffer {
	out := make([]int32, 1, len(ends)+1)
	for _, end := range ends {
		out = append(out, int32(end))
	}
	return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(out))
}

func stringData(words []string) *array.Data {
	ends, bytes := make([]int, 0, len(words)), []byte(nil)
	for _, w := range words {
		bytes = append(bytes, w...)
		ends = append(ends, len(bytes))
	}
	return array.NewData(arrow.BinaryTypes.String, len(words), []*memory.Buffer{nil, offsets(ends), memory.NewBufferBytes(bytes)}, nil, 0, 0)
}

// note does nothing: the metadata of a stream are at its start.
func (e *arrowEncoder) note(Note) {}

func (e *arrowEncoder) end() error { return e.w.Close() }
