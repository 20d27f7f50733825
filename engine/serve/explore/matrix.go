package explore

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
)

// matrix has arrays of a PV: a column for each. A cell is the maximum and the minimum of neighbouring
// elements, whose number is a power of two.
type matrix struct {
	PV       string    `json:"pv"`
	Type     string    `json:"type,omitempty"` // of the last sample
	Metadata *metadata `json:"metadata,omitempty"`
	// Width is that of an interval, in s. Each column is the first sample of an interval.
	Width float64 `json:"width"`
	// Elements is the length of the longest array, Group is how many elements a cell has, and Cells is how
	// many cells the longest array has.
	Elements int `json:"elements"`
	Group    int `json:"group"`
	Cells    int `json:"cells"`
	// Thinned means that intervals are left out, because their arrays take too long to read.
	Thinned bool `json:"thinned,omitempty"`
	// LeftOutFrom is the time from which no array was read, because the request took too long.
	LeftOutFrom   string `json:"leftOutFrom,omitempty"`
	CompleteUntil string `json:"completeUntil,omitempty"`
	Lost          uint64 `json:"lost,omitempty"`

	until     int64 // see query.Samples
	most      int   // cells of a column
	times     []int64
	lengths   []int
	severity  []uint8
	high, low [][]float64
}

func newMatrix(q *arraysQuery) *matrix {
	return &matrix{PV: q.pv, Width: float64(q.width) / 1e9, Group: 1, until: math.MaxInt64, most: q.cells}
}

// add adds sample i of a run. A sample that is no array of numbers has no elements.
func (m *matrix) add(run *sample.Run, i int) {
	m.Type = run.Type.String()
	n := 0
	size := run.Type.ElemSize()
	numbers := run.Type.IsArray() && size > 0
	if numbers && !rollup.Undefined(run.Tags[i]) {
		n = len(run.Value(i)) / size
	}
	for n > m.most*m.Group {
		m.coarsen()
	}
	cells := (n + m.Group - 1) / m.Group
	high, low := unknowns(cells), unknowns(cells)
	if n > 0 {
		b := run.Value(i)
		for k := range n {
			extend(high, low, k/m.Group, element(run.Type, b, k))
		}
	}
	m.Elements, m.Cells = max(m.Elements, n), max(m.Cells, cells)
	m.times, m.lengths = append(m.times, run.Times[i]), append(m.lengths, n)
	m.severity = append(m.severity, uint8(run.Tags[i].Severity()))
	m.high, m.low = append(m.high, high), append(m.low, low)
}

// element returns element k of an array of numbers.
func element(t sample.Type, b []byte, k int) float64 {
	if t.Elem() == sample.Float64 {
		return math.Float64frombits(binary.LittleEndian.Uint64(b[8*k:]))
	}
	return sample.Float(t.Elem(), sample.Word(t, b, k))
}

// unknowns returns n times NaN.
func unknowns(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = math.NaN()
	}
	return list
}

// extend adds a value to a cell. NaN does not count.
func extend(high, low []float64, cell int, v float64) {
	if v > high[cell] || math.IsNaN(high[cell]) {
		high[cell] = v
	}
	if v < low[cell] || math.IsNaN(low[cell]) {
		low[cell] = v
	}
}

// coarsen doubles the number of elements of a cell.
func (m *matrix) coarsen() {
	m.Group *= 2
	m.Cells = (m.Cells + 1) / 2
	for c := range m.high {
		n := (len(m.high[c]) + 1) / 2
		high, low := unknowns(n), unknowns(n)
		for i := range m.high[c] {
			extend(high, low, i/2, m.high[c][i])
			extend(high, low, i/2, m.low[c][i])
		}
		m.high[c], m.low[c] = high, low
	}
}

// arraysFrame is the header of a frame of arrays: see frame.
type arraysFrame struct {
	*matrix
	Base    string   `json:"base"`
	Rows    int      `json:"rows"`
	Columns []column `json:"columns"`
	Bytes   int      `json:"bytes"`
}

// appendFrame appends a frame. Column max has Cells numbers for each array, one array after another; cells
// that an array does not have are NaN. Column min is absent if a cell is one element.
func (m *matrix) appendFrame(dst []byte) []byte {
	f := arraysFrame{matrix: m, Base: "0", Rows: len(m.times)}
	base := int64(0)
	if len(m.times) > 0 {
		base = m.times[0]
		f.Base = strconv.FormatInt(base, 10)
	}
	var body []byte
	put := func(name, typ string, n func(i int)) {
		f.Columns = append(f.Columns, column{name, typ, len(body)})
		for i := range m.times {
			n(i)
		}
		body = pad(body)
	}
	cells := func(of [][]float64) func(i int) {
		return func(i int) {
			for k := range m.Cells {
				v := math.NaN()
				if k < len(of[i]) {
					v = of[i][k]
				}
				body = append(body, f64(v)...)
			}
		}
	}
	put("offset", "u64", func(i int) { body = append(body, u64(uint64(m.times[i]-base))...) })
	put("length", "u32", func(i int) { body = append(body, u32(int64(m.lengths[i]))...) })
	put("severity", "u8", func(i int) { body = append(body, m.severity[i]) })
	put("max", "f64", cells(m.high))
	if m.Group > 1 {
		put("min", "f64", cells(m.low))
	}
	f.Bytes = len(body)
	return appendFrame(dst, f, body)
}

// appendJSON appends the arrays as JSON.
func (m *matrix) appendJSON(dst []byte) []byte {
	head, err := json.Marshal(m)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	dst = append(dst, head[:len(head)-1]...)
	dst = list(dst, "time", len(m.times), func(dst []byte, i int) []byte { return value.AppendString(dst, clock(m.times[i])) })
	dst = list(dst, "length", len(m.times), func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(m.lengths[i]), 10) })
	dst = list(dst, "severity", len(m.times), func(dst []byte, i int) []byte {
		return value.AppendString(dst, sample.Severity(m.severity[i]).String())
	})
	dst = appendCells(dst, "max", m.high)
	if m.Group > 1 {
		dst = appendCells(dst, "min", m.low)
	}
	return append(dst, "}\n"...)
}

func appendCells(dst []byte, name string, of [][]float64) []byte {
	return list(dst, name, len(of), func(dst []byte, i int) []byte {
		dst = append(dst, '[')
		for k, v := range of[i] {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = value.Quoted.Float(dst, v, 64)
		}
		return append(dst, ']')
	})
}
