package explore

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
)

// waveform returns an array of float64.
func waveform(values ...float64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// readArrays reads X from 0 to a time in s, with up to 10 intervals and 4 cells unless change says otherwise.
func (a *archive) readArrays(to float64, change func(q *arraysQuery)) *matrix {
	a.t.Helper()
	q := &arraysQuery{pv: "X", from: at, to: at + int64(to*1e9), cells: 4, bytes: maxArrayBytes, time: time.Hour}
	q.width = gridWidth(q.from, q.to, 10)
	if change != nil {
		change(q)
	}
	h := New(&query.Reader{Store: a.store, Shards: 1}, nil, nil, time.Now, slog.New(slog.DiscardHandler))
	m, err := h.readArrays(a.t.Context(), q)
	if err != nil {
		a.t.Fatal(err)
	}
	return m
}

// seconds returns the times of the columns in s.
func (m *matrix) seconds() (list []float64) {
	for _, t := range m.times {
		list = append(list, float64(t-at)/1e9)
	}
	return list
}

// TestArraysAreTheFirstOfEachInterval checks which arrays are taken, and that the one before the range is the first.
func TestArraysAreTheFirstOfEachInterval(t *testing.T) {
	a := newArchive(t)
	r := &sample.Run{Type: sample.Float64.Array()}
	for _, s := range []float64{-7, -3, 0.5, 0.75, 1.25, 4.5, 4.75, 9.5, 10} {
		r.Append(&sample.Sample{Time: at + int64(s*1e9), Bytes: waveform(s, 2*s), Tag: sample.MakeTag(sample.Major, 3)})
	}
	a.add(r)
	m := a.readArrays(10, nil)
	if want := []float64{-3, 0.5, 1.25, 4.5, 9.5, 10}; !slices.Equal(m.seconds(), want) {
		t.Fatalf("the columns are at %v, want %v", m.seconds(), want)
	}
	if m.Width != 1 || m.Group != 1 || m.Cells != 2 || m.Elements != 2 || m.Type != "float64[]" || m.Thinned || m.LeftOutFrom != "" {
		t.Errorf("the matrix is %+v", m)
	}
	if !slices.Equal(m.high[3], []float64{4.5, 9}) || m.severity[3] != 2 {
		t.Errorf("column 3 is %v with severity %d", m.high[3], m.severity[3])
	}
}

// TestCellsContainAllElements checks the cells of arrays whose lengths and types change.
func TestCellsContainAllElements(t *testing.T) {
	a := newArchive(t)
	long := &sample.Run{Type: sample.Float64.Array()}
	long.Append(&sample.Sample{Time: at + 1e9, Bytes: waveform(1, 2, 3)})
	long.Append(&sample.Sample{Time: at + 2e9, Bytes: waveform(9, -9, math.NaN(), 4, math.NaN(), math.NaN(), math.Inf(1), 0, 5)})
	long.Append(&sample.Sample{Time: at + 3e9, Bytes: nil})
	long.Append(&sample.Sample{Time: at + 4e9, Bytes: waveform(7), Tag: sample.MakeTag(sample.Invalid, 17)}) // undefined
	a.add(long)
	short := &sample.Run{Type: sample.Int16.Array()}
	short.Append(&sample.Sample{Time: at + 5e9, Bytes: []byte{0xfe, 0xff, 5, 0}})
	a.add(short)
	texts := &sample.Run{Type: sample.String}
	texts.Append(&sample.Sample{Time: at + 6e9, Bytes: []byte("text")})
	a.add(texts)
	m := a.readArrays(10, nil)
	if m.Group != 4 || m.Cells != 3 || m.Elements != 9 || fmt.Sprint(m.lengths) != "[3 9 0 0 2 0]" {
		t.Fatalf("the matrix has %d elements in %d cells of %d, and lengths %v", m.Elements, m.Cells, m.Group, m.lengths)
	}
	if got := fmt.Sprint(m.high, m.low); got != "[[3] [9 +Inf 5] [] [] [5] []] [[1] [-9 0 5] [] [] [-2] []]" {
		t.Errorf("the cells are %s", got)
	}
	if m = a.readArrays(10, func(q *arraysQuery) { q.cells = 9 }); fmt.Sprint(m.high[1]) != "[9 -9 NaN 4 NaN NaN +Inf 0 5]" || m.Group != 1 {
		t.Errorf("with 9 cells, the array is %v", m.high[1])
	}
}

// TestLargeArraysAreSpreadOverTheRange checks that a request that can only read some of the arrays reads arrays of all
// parts of its range, and does not read more than it may.
func TestLargeArraysAreSpreadOverTheRange(t *testing.T) {
	const size, n = 1 << 18, 60
	a := newArchive(t)
	for i := range n {
		r := &sample.Run{Type: sample.Uint8.Array()}
		b := make([]byte, size)
		for k := range b {
			b[k] = byte(i * k)
		}
		b[i] = 255
		r.Append(&sample.Sample{Time: at + int64(i)*1e9, Bytes: b})
		a.add(r)
	}
	whole := a.readArrays(n, func(q *arraysQuery) { q.width = 1e9 })
	if len(whole.times) != n || whole.Thinned || whole.Elements != size || whole.Group != size/4 || whole.high[7][0] != 255 {
		t.Fatalf("the whole range has %d columns of %d elements, %d in a cell; thinned: %t", len(whole.times), whole.Elements, whole.Group, whole.Thinned)
	}
	m := a.readArrays(n, func(q *arraysQuery) { q.width, q.bytes = 1e9, 15*size })
	s := m.seconds()
	if len(s) < 8 || len(s) > 15 || !m.Thinned || m.LeftOutFrom != "" {
		t.Fatalf("%d columns were read, thinned: %t, left out from %q", len(s), m.Thinned, m.LeftOutFrom)
	}
	for i := range s[1:] {
		if s[i+1]-s[i] > n/5 {
			t.Errorf("no array was read between %g s and %g s", s[i], s[i+1])
		}
	}
	if last := s[len(s)-1]; last < n*4/5 {
		t.Errorf("the last array is at %g s of %d s", last, n)
	}
	if m = a.readArrays(n, func(q *arraysQuery) { q.width, q.bytes = 1e9, size }); len(m.times) != 1 || m.LeftOutFrom != clock(at+1e9) {
		t.Errorf("with bytes for one array, %d were read, and left out from %q", len(m.times), m.LeftOutFrom)
	}
	if m = a.readArrays(n, func(q *arraysQuery) { q.time = -1 }); len(m.times) != 0 || m.LeftOutFrom != clock(at) {
		t.Errorf("without time, %d arrays were read, and left out from %q", len(m.times), m.LeftOutFrom)
	}
}

// TestArraysAfterALongPauseAreFound checks that a reader that skips finds the next array, however far away it is.
func TestArraysAfterALongPauseAreFound(t *testing.T) {
	a := newArchive(t)
	for _, s := range []int64{0, 5000, 5001, 9000} {
		r := &sample.Run{Type: sample.Uint8.Array()}
		r.Append(&sample.Sample{Time: at + s*1e9, Bytes: make([]byte, maxArrayBytes/skipsAfter)})
		a.add(r)
	}
	m := a.readArrays(10_000, func(q *arraysQuery) { q.width = 1e9 })
	if want := []float64{0, 5000, 5001, 9000}; !slices.Equal(m.seconds(), want) {
		t.Errorf("the columns are at %v, want %v", m.seconds(), want)
	}
}

// TestArraysInBinaryEqualJSON decodes a frame as a browser does.
func TestArraysInBinaryEqualJSON(t *testing.T) {
	a := newArchive(t)
	r := &sample.Run{Type: sample.Float64.Array()}
	r.Append(&sample.Sample{Time: at + 1, Bytes: waveform(1, 2, 3, 4, 5)})
	r.Append(&sample.Sample{Time: at + 3e9, Bytes: waveform(6, 7)})
	a.add(r)
	m := a.readArrays(10, nil)
	var text struct {
		Time     []string
		Length   []int
		Max, Min [][]float64
		Severity []string
	}
	if err := json.Unmarshal(m.appendJSON(nil), &text); err != nil || fmt.Sprint(text.Max, text.Min, text.Length) != "[[2 4 5] [7]] [[1 3 5] [6]] [5 2]" || text.Time[0] != clock(at+1) {
		t.Fatalf("the JSON is %s: %v", m.appendJSON(nil), err)
	}
	frame := m.appendFrame(nil)
	var head struct {
		Base               string
		Rows, Cells, Bytes int
		Columns            []column
	}
	end := 8 + int(binary.LittleEndian.Uint32(frame[4:]))
	if err := json.Unmarshal(frame[8:end], &head); err != nil || head.Rows != 2 || head.Cells != 3 || head.Bytes != len(frame)-end || head.Base != fmt.Sprint(at+1) {
		t.Fatalf("the header is %s: %v", frame[8:end], err)
	}
	float := func(column, i int) float64 {
		return math.Float64frombits(binary.LittleEndian.Uint64(frame[end+head.Columns[column].At+8*i:]))
	}
	if head.Columns[3].Name != "max" || head.Columns[4].Name != "min" || float(3, 2) != 5 || float(3, 3) != 7 || !math.IsNaN(float(3, 4)) || float(4, 3) != 6 {
		t.Errorf("the columns are %v with %v", head.Columns, frame[end:])
	}
	if d := binary.LittleEndian.Uint64(frame[end+head.Columns[0].At+8:]); d != 3e9-1 {
		t.Errorf("the second array is %d ns after the first", d)
	}
}

// TestGridOfCenturies checks that a range of which the length exceeds an int64 has wide bins.
func TestGridOfCenturies(t *testing.T) {
	for _, n := range []int{1, 2, 1000} {
		if w := gridWidth(query.Earliest, query.Latest, n); w < 1e18/int64(n) {
			t.Errorf("300 years in %d bins have bins of %d ns", n, w)
		}
	}
}
