package value

import (
	"encoding/base64"
	"strconv"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
)

// structure appends a stored structure of pvAccess as a JSON object with its members in order.
// For a union or an any, it writes the contained value. It writes bytes that are not a
// structure in base64, so that clients can read everything that is stored.
func (f *Format) structure(dst, stored []byte) []byte {
	w := structureWriter{format: f, dst: dst, first: true}
	if err := proto.Walk(stored, w.part); err == nil {
		return w.dst
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, stored)
	return append(dst, '"')
}

// structureWriter writes the parts of a structure as text.
type structureWriter struct {
	format *Format
	dst    []byte
	// open holds the closing bracket of each open object and array.
	open []byte
	// first is true if the next part needs no comma before it.
	first bool
}

func (w *structureWriter) part(p *proto.Part) {
	if p.Kind == proto.Close {
		last := len(w.open) - 1
		w.dst = append(w.dst, w.open[last])
		w.open, w.first = w.open[:last], false
		return
	}
	if !w.first {
		w.dst = append(w.dst, ',')
	}
	w.first = false
	if n := len(w.open); n > 0 && w.open[n-1] == '}' {
		w.dst = append(AppendString(w.dst, p.Name), ':')
	}
	switch p.Kind {
	case proto.Open:
		w.begin(p.Type.Code == proto.Struct)
	case proto.Text:
		w.dst = AppendString(w.dst, p.Bytes)
	case proto.Numbers:
		w.dst = w.format.numbers(w.dst, p.Type.Code, p.Bytes)
	default:
		w.dst = append(w.dst, "null"...)
	}
}

func (w *structureWriter) begin(object bool) {
	first, last := byte('['), byte(']')
	if object {
		first, last = '{', '}'
	}
	w.dst, w.open, w.first = append(w.dst, first), append(w.open, last), true
}

// numberTypes maps number types of pvAccess to types of samples with the same text.
var numberTypes = [...]sample.Type{
	proto.Int8: sample.Int8, proto.Int16: sample.Int16, proto.Int32: sample.Int32, proto.Int64: sample.Int64,
	proto.UInt8: sample.Uint8, proto.UInt16: sample.Uint16, proto.UInt32: sample.Uint32, proto.UInt64: sample.Uint64,
	proto.Float32: sample.Float32, proto.Float64: sample.Float64,
}

// numbers appends a number or boolean of pvAccess, or an array of them.
func (f *Format) numbers(dst []byte, c proto.Code, b []byte) []byte {
	switch t := numberTypes[c.Elem()]; {
	case c == proto.Bool:
		return strconv.AppendBool(dst, b[0] != 0)
	case c.Elem() == proto.Bool:
		return appendBools(dst, b)
	case c.Shape() == 0:
		return f.word(dst, t, sample.Word(t, b, 0))
	default:
		return f.array(dst, t.Array(), b, len(b)/c.Width())
	}
}

func appendBools(dst, b []byte) []byte {
	dst = append(dst, '[')
	for i, v := range b {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendBool(dst, v != 0)
	}
	return append(dst, ']')
}
