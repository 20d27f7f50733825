package appliance

import (
	"math"
	"time"

	"varve.dev/varve/engine/sample"
)

// rawEncoder writes .raw, the Appliance's "PB over HTTP":
//
//	PayloadInfo LF sample LF sample LF … LF PayloadInfo LF sample LF …
//
// A chunk is a line of PayloadInfo and the samples that follow, up to an empty line. Its
// samples have one PV, one type and one UTC year. Lines are escaped protobuf messages
// (EPICSEvent.proto).
type rawEncoder struct {
	series  *series
	chunked bool        // there is a chunk
	typ     sample.Type // of the chunk
	year    int
	begins  int64 // the chunk's year, in ns since 1970
	ends    int64 // exclusive
	msg     []byte
}

func (*rawEncoder) contentType() string     { return "application/x-protobuf" }
func (*rawEncoder) begin(dst []byte) []byte { return dst }
func (*rawEncoder) end(dst []byte) []byte   { return dst }

func (e *rawEncoder) open(dst []byte, s *series, first *sample.Run) []byte {
	e.series = s
	e.begins, e.ends = math.MaxInt64, math.MinInt64 // the next sample begins a chunk
	if first != nil {
		return dst
	}
	typ := s.typ
	if !typ.Valid() {
		typ = sample.Float64
	}
	return e.chunk(dst, typ, s.from, max(s.count, 1))
}

func (e *rawEncoder) samples(dst []byte, r *sample.Run) []byte {
	for i, t := range r.Times {
		if t < e.begins || t >= e.ends || r.Type != e.typ {
			dst = e.chunk(dst, r.Type, t, elements(r, i))
		}
		from := len(dst)
		dst = appendSample(dst, r, i, t-e.begins, e.series.fieldsOf(r, i))
		if needsEscapes(dst[from:]) {
			e.msg = append(e.msg[:0], dst[from:]...)
			dst = appendEscaped(dst[:from], e.msg)
		}
		dst = append(dst, '\n')
	}
	return dst
}

// chunk begins a chunk for the year of a time in ns since 1970.
func (e *rawEncoder) chunk(dst []byte, typ sample.Type, t int64, count int) []byte {
	if e.chunked {
		dst = append(dst, '\n')
	}
	e.chunked, e.typ = true, typ
	e.year = time.Unix(0, t).UTC().Year()
	e.begins = time.Date(e.year, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	e.ends = time.Date(e.year+1, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	e.msg = appendPayloadInfo(e.msg[:0], e.series, typ, e.year, count)
	return append(appendEscaped(dst, e.msg), '\n')
}

// elements returns the number of elements of a sample, 1 for a scalar.
func elements(r *sample.Run, i int) int {
	if !r.Type.IsArray() {
		return 1
	}
	if size := r.Type.ElemSize(); size > 0 {
		return len(r.Value(i)) / size
	}
	return len(sample.Strings(r.Value(i)))
}
