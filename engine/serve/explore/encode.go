package explore

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
)

// A frame is a series in binary. All numbers are little-endian, and each part is padded to 8 bytes,
// so that a browser can use the columns where they are:
//
//	"VBIN"  header bytes: uint32  header: JSON  columns
//
// The header has the fields of series and those of frame.
const magic = "VBIN"

// frame is the header of a frame, beside the fields of series.
type frame struct {
	*series
	// Now is the server's time. Base is the time of the first bin or sample. Width is that of a
	// bin. They are in ns, in decimal, because they exceed the numbers of JavaScript.
	Now   string `json:"now"`
	Base  string `json:"base"`
	Width string `json:"width"`
	// Unit is what offsets and spans count, in ns.
	Unit    int64    `json:"unit"`
	Rows    int      `json:"rows"`
	Columns []column `json:"columns"`
	Texts   []string `json:"texts,omitempty"`
	// Bytes is the number of bytes of the columns.
	Bytes int `json:"bytes"`
}

// column says where a column is: the byte in the columns at which it begins, and its type: u8, u32,
// u64, f32 or f64.
type column struct {
	Name string `json:"name"`
	Type string `json:"type"`
	At   int    `json:"at"`
}

// appendFrame appends a series as a frame. now is in ns since 1970.
func (s *series) appendFrame(dst []byte, now int64) []byte {
	f := frame{series: s, Now: strconv.FormatInt(now, 10), Base: "0", Width: strconv.FormatInt(s.width, 10), Unit: 1, Rows: len(s.times)}
	if s.withTexts {
		f.Texts = s.texts
	}
	base := int64(0)
	if len(s.times) > 0 {
		base = s.times[0]
		f.Base = strconv.FormatInt(base, 10)
	}
	var body []byte
	put := func(name, typ string, n func(i int) []byte) {
		f.Columns = append(f.Columns, column{name, typ, len(body)})
		for i := range s.times {
			body = append(body, n(i)...)
		}
		body = pad(body)
	}
	if s.Mode == "samples" {
		put("offset", "u64", func(i int) []byte { return u64(uint64(s.times[i] - base)) })
		put("value", "f64", func(i int) []byte { return f64(s.value[i]) })
	} else {
		f.Unit = s.unit()
		put("offset", "u32", func(i int) []byte { return u32((s.times[i] - base) / f.Unit) })
		put("span", "u32", func(i int) []byte { return u32(s.spans[i] / f.Unit) })
		for _, c := range s.numbers() {
			put(c.name, "f64", func(i int) []byte { return f64(c.of[i]) })
		}
	}
	put("severity", "u8", func(i int) []byte { return s.severity[i : i+1] })
	f.Bytes = len(body)
	return appendFrame(dst, f, body)
}

// appendFrame appends a frame with a header and columns.
func appendFrame(dst []byte, header any, body []byte) []byte {
	head, err := json.Marshal(header)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	for len(head)%8 != 0 {
		head = append(head, ' ')
	}
	dst = binary.LittleEndian.AppendUint32(append(dst, magic...), uint32(len(head)))
	return append(append(dst, head...), body...)
}

// numbers returns the columns of bins that are numbers.
func (s *series) numbers() []numbers {
	return []numbers{{"min", s.min}, {"max", s.max}, {"mean", s.mean}, {"last", s.last}, {"count", s.count}, {"covered", s.covered}}
}

type numbers struct {
	name string
	of   []float64
}

// unit returns the largest unit, in ns, of which all offsets and widths of bins are multiples. Bins
// of expired samples may not fit the grid.
func (s *series) unit() int64 {
	unit := s.width
	for i, t := range s.times {
		unit = divisor(divisor(unit, t-s.times[0]), s.spans[i])
	}
	return unit
}

// divisor returns the greatest common divisor.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func pad(b []byte) []byte {
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

func u32(v int64) []byte   { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }
func u64(v uint64) []byte  { return binary.LittleEndian.AppendUint64(nil, v) }
func f64(v float64) []byte { return u64(math.Float64bits(v)) }

// appendJSON appends a series as JSON: the fields of series, and columns.
func (s *series) appendJSON(dst []byte) []byte {
	head, err := json.Marshal(s)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	dst = append(dst, head[:len(head)-1]...)
	dst = list(dst, "time", len(s.times), func(dst []byte, i int) []byte { return value.AppendString(dst, clock(s.times[i])) })
	if s.Mode == "samples" {
		dst = list(dst, "value", len(s.times), s.appendValue)
	} else {
		dst = list(dst, "width", len(s.spans), func(dst []byte, i int) []byte {
			return strconv.AppendFloat(dst, float64(s.spans[i])/1e9, 'g', -1, 64)
		})
		for _, c := range s.numbers() {
			dst = list(dst, c.name, len(c.of), func(dst []byte, i int) []byte { return value.Quoted.Float(dst, c.of[i], 64) })
		}
		if s.withTexts {
			dst = list(dst, "text", len(s.texts), func(dst []byte, i int) []byte { return value.AppendString(dst, s.texts[i]) })
		}
	}
	dst = list(dst, "severity", len(s.severity), func(dst []byte, i int) []byte {
		return value.AppendString(dst, sample.Severity(s.severity[i]).String())
	})
	return append(dst, '}')
}

// appendValue appends the value of sample i: a number or a text.
func (s *series) appendValue(dst []byte, i int) []byte {
	if s.Kind == "text" {
		return value.AppendString(dst, s.texts[i])
	}
	return value.Quoted.Float(dst, s.value[i], 64)
}

// list appends a column.
func list(dst []byte, name string, n int, add func(dst []byte, i int) []byte) []byte {
	dst = append(value.AppendString(append(dst, ",\n"...), name), `:[`...)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = add(dst, i)
	}
	return append(dst, ']')
}
