package appliance

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf16"

	"varve.dev/varve/engine/sample"
)

// maxMat bounds the samples of an answer in .mat, in bytes. The sizes of the columns come before
// their contents, so that the answer is held as a whole.
const maxMat = 32 << 20

// matEncoder writes .mat, a MATLAB file of level 5 with two variables, as the Appliance does:
//
//	header: source, pvName, from, to
//	data:   epochSeconds, values, nanos, isDST, severity, status
//
// Both are structures, and arrays of structures if the request has several PVs. Each field of data
// has a row for each sample. values is a matrix of doubles, or a cell array if values are texts or
// arrays of different lengths. isDST is 0, because all times are UTC.
type matEncoder struct {
	from, to int64
	pvs      []*matColumns
	size     int
	err      error
}

// matColumns are the samples of a PV.
type matColumns struct {
	name   string
	times  []int64
	tags   []sample.Tag
	values []float64
	ends   []int          // of each sample in values
	texts  map[int]string // samples that are texts, by index
	ragged bool           // arrays have different lengths
}

func newMatEncoder(q *dataQuery) encoder { return &matEncoder{from: q.from, to: q.to} }

func (*matEncoder) contentType() string     { return "application/matlab" }
func (*matEncoder) begin(dst []byte) []byte { return dst }

func (e *matEncoder) open(dst []byte, s *series, _ *sample.Run) []byte {
	e.pvs = append(e.pvs, &matColumns{name: s.name, texts: map[int]string{}})
	return dst
}

func (e *matEncoder) samples(dst []byte, r *sample.Run) []byte {
	if e.err != nil {
		return dst
	}
	if e.size += r.Size() + 32*r.Len(); e.size > maxMat {
		e.err = badQuery{fmt.Errorf("getData.mat: the samples take more than %d MiB; read a shorter range, or use a post-processor", maxMat>>20)}
		return dst
	}
	c := e.pvs[len(e.pvs)-1]
	for i := range r.Len() {
		c.add(r, i)
	}
	return dst
}

// failed returns why the answer cannot be written.
func (e *matEncoder) failed() error { return e.err }

func (c *matColumns) add(r *sample.Run, i int) {
	n, before := len(c.times), len(c.values)
	c.times, c.tags = append(c.times, r.Times[i]), append(c.tags, r.Tags[i])
	size := r.Type.ElemSize()
	switch {
	case r.Type.Fixed():
		c.values = append(c.values, sample.Float(r.Type, r.Words[i]))
	case r.Type.IsArray() && size > 0:
		for k := range len(r.Value(i)) / size {
			c.values = append(c.values, sample.Float(r.Type.Elem(), sample.Word(r.Type, r.Value(i), k)))
		}
	default:
		c.texts[n] = string(appendPlain(nil, r, i))
	}
	c.ends = append(c.ends, len(c.values))
	c.ragged = c.ragged || n > 0 && len(c.values)-before != c.ends[0]
}

// Types of elements of a file, and classes of arrays.
const (
	miInt8, miUint8, miUint16, miInt32, miUint32, miDouble, miInt64, miUint64, miMatrix = 1, 2, 4, 5, 6, 9, 12, 13, 14

	mxCell, mxStruct, mxChar, mxDouble, mxUint8, mxUint16, mxInt64, mxUint64 = 1, 2, 4, 6, 9, 11, 14, 15
)

func (e *matEncoder) end(dst []byte) []byte {
	head := make([]byte, 128)
	copy(head, fmt.Sprintf("%-116s", "MATLAB 5.0 MAT-file, written by Varve"))
	binary.LittleEndian.PutUint16(head[124:], 0x0100)
	copy(head[126:], "IM")
	dst = append(dst, head...)
	dst = e.structure(dst, "header", []string{"source", "pvName", "from", "to"}, func(dst []byte, c *matColumns) []byte {
		for _, text := range []string{"Varve", c.name, iso(e.from), iso(e.to)} {
			dst = matText(dst, text)
		}
		return dst
	})
	return e.structure(dst, "data", []string{"epochSeconds", "values", "nanos", "isDST", "severity", "status"}, matData)
}

func matData(dst []byte, c *matColumns) []byte {
	n := len(c.times)
	secs, class, kind := make([]byte, 0, 8*n), mxUint64, miUint64
	nanos, zeros, severities, statuses := make([]byte, 0, 8*n), make([]byte, n), make([]byte, 0, n), make([]byte, 0, 2*n)
	for i, t := range c.times {
		s, ns := split(t)
		if s < 0 {
			class, kind = mxInt64, miInt64
		}
		secs = binary.LittleEndian.AppendUint64(secs, uint64(s))
		nanos = binary.LittleEndian.AppendUint64(nanos, uint64(ns))
		severities = append(severities, byte(c.tags[i].Severity()))
		statuses = binary.LittleEndian.AppendUint16(statuses, c.tags[i].Status())
	}
	dst = matNumbers(dst, class, kind, n, 1, secs)
	dst = c.matValues(dst)
	dst = matNumbers(dst, mxUint64, miUint64, n, 1, nanos)
	dst = matNumbers(dst, mxUint8, miUint8, n, 1, zeros)
	dst = matNumbers(dst, mxUint8, miUint8, n, 1, severities)
	return matNumbers(dst, mxUint16, miUint16, n, 1, statuses)
}

// matValues appends the values: a matrix with a row for each sample if all of them have the same
// number of elements, otherwise a cell for each sample.
func (c *matColumns) matValues(dst []byte) []byte {
	n := len(c.times)
	if len(c.texts) == 0 && !c.ragged {
		width := 1
		if n > 0 {
			width = c.ends[0]
		}
		columns := make([]byte, 0, 8*len(c.values))
		for k := range width {
			for i := range n {
				columns = binary.LittleEndian.AppendUint64(columns, math.Float64bits(c.values[i*width+k]))
			}
		}
		return matNumbers(dst, mxDouble, miDouble, n, width, columns)
	}
	return matArray(dst, "", mxCell, n, 1, func(dst []byte) []byte {
		begin := 0
		for i, end := range c.ends {
			if text, is := c.texts[i]; is {
				dst = matText(dst, text)
				continue
			}
			row := make([]byte, 0, 8*(end-begin))
			for _, v := range c.values[begin:end] {
				row = binary.LittleEndian.AppendUint64(row, math.Float64bits(v))
			}
			dst, begin = matNumbers(dst, mxDouble, miDouble, 1, end-begin, row), end
		}
		return dst
	})
}

// structure appends a variable with a structure for each PV. values appends the values of all fields
// of a PV.
func (e *matEncoder) structure(dst []byte, name string, names []string, values func(dst []byte, c *matColumns) []byte) []byte {
	const width = 16 // of a name of a field, with zeros after it
	return matArray(dst, name, mxStruct, 1, len(e.pvs), func(dst []byte) []byte {
		// This element must have the short form: MATLAB's format requires it, and Octave reads no other.
		dst = binary.LittleEndian.AppendUint32(dst, 4<<16|miInt32)
		dst = binary.LittleEndian.AppendUint32(dst, width)
		fixed := make([]byte, width*len(names))
		for i, name := range names {
			copy(fixed[i*width:], name)
		}
		dst = matElement(dst, miInt8, fixed)
		for _, c := range e.pvs {
			dst = values(dst, c)
		}
		return dst
	})
}

// matArray appends an array of a class.
func matArray(dst []byte, name string, class, rows, columns int, contents func(dst []byte) []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, miMatrix)
	dst = append(dst, 0, 0, 0, 0) // the size, which is known at the end
	begin := len(dst)
	flags := make([]byte, 8)
	flags[0] = byte(class)
	dst = matElement(dst, miUint32, flags)
	dst = matElement(dst, miInt32, binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(rows)), uint32(columns)))
	dst = contents(matElement(dst, miInt8, []byte(name)))
	binary.LittleEndian.PutUint32(dst[begin-4:], uint32(len(dst)-begin))
	return dst
}

func matNumbers(dst []byte, class, kind, rows, columns int, data []byte) []byte {
	return matArray(dst, "", class, rows, columns, func(dst []byte) []byte { return matElement(dst, kind, data) })
}

func matText(dst []byte, text string) []byte {
	units := utf16.Encode([]rune(text))
	data := make([]byte, 0, 2*len(units))
	for _, u := range units {
		data = binary.LittleEndian.AppendUint16(data, u)
	}
	return matNumbers(dst, mxChar, miUint16, 1, len(units), data)
}

// matElement appends data in the long form, padded to a multiple of 8 bytes.
func matElement(dst []byte, kind int, data []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(kind))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(data)))
	dst = append(dst, data...)
	return append(dst, make([]byte, -len(data)&7)...)
}
