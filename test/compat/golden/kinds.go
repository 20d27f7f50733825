package golden

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"varve.dev/varve/engine/sample"
)

// kind is a PV with values of one type.
type kind struct {
	pv    string
	t     sample.Type
	value func(i int) value
}

// value is a value in three forms: as a Go value, as the engine gets it, and as readers get it if that
// differs from the JSON of the Go value.
type value struct {
	value  any
	stored func(*sample.Sample)
	read   any
}

// units are the units of all PVs.
const units = "mA"

// kinds returns the PVs of the archive: one for each type and each type of array, and some more. The PVs
// and their values never change, because the archives of releases have them.
func kinds() []kind {
	out := []kind{
		{Steady, sample.Float64, func(i int) value { return float(math.Sin(float64(i)/20) * 100) }},
		{Retired, sample.Float64, func(i int) value { return float(float64(i) / 8) }},
		{"golden:special", sample.Float64, func(i int) value {
			return float([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324, -1}[i%6])
		}},
		{"golden:string", sample.String, func(i int) value {
			s := []string{"", "Strahl läuft", "a \"quoted\" text", strings.Repeat("long ", 200), "x", "y"}[i%6]
			return value{s, func(o *sample.Sample) { o.Bytes = []byte(s) }, nil}
		}},
		{"golden:string[]", sample.String.Array(), func(i int) value {
			s := []string{"a", "", fmt.Sprint("element ", i)}[:i%4%3+1]
			return value{s, func(o *sample.Sample) { o.Bytes = sample.AppendStrings(nil, s...) }, nil}
		}},
		{"golden:struct", sample.Struct, structure},
		{Image, sample.Uint8.Array(), func(i int) value {
			random := rand.New(rand.NewPCG(uint64(i), 0))
			n, b := make([]int, imageSize), make([]byte, imageSize)
			for k := range n {
				b[k] = byte(random.Uint32())
				n[k] = int(b[k])
			}
			return value{n, func(o *sample.Sample) { o.Bytes = b }, nil}
		}},
	}
	for _, s := range scalars {
		out = append(out, kind{"golden:" + s.t.String(), s.t, func(i int) value {
			return value{s.number(i), func(o *sample.Sample) { o.Word = s.word(i) }, s.number(i)}
		}})
		if s.t == sample.Enum {
			continue // there are no arrays of enumerations
		}
		out = append(out, kind{"golden:" + s.t.Array().String(), s.t.Array(), func(i int) value {
			list, b := make([]any, 3+i), []byte(nil)
			for k := range list {
				list[k] = s.number(i + k)
				word := binary.LittleEndian.AppendUint64(nil, s.word(i+k))
				b = append(b, word[:s.bytes]...)
			}
			return value{list, func(o *sample.Sample) { o.Bytes = b }, nil}
		}})
	}
	return out
}

// float returns a float64. Readers get a number that JSON cannot express as a string with its name.
func float(v float64) value {
	out := value{v, func(o *sample.Sample) { o.Word = math.Float64bits(v) }, nil}
	switch {
	case math.IsNaN(v):
		out.read = "NaN"
	case math.IsInf(v, 1):
		out.read = "Infinity"
	case math.IsInf(v, -1):
		out.read = "-Infinity"
	}
	return out
}

// scalar is a type of numbers: its i-th number for readers, the word for the engine, and its size.
type scalar struct {
	t      sample.Type
	bytes  int
	number func(i int) any
	word   func(i int) uint64
}

var scalars = []scalar{
	{sample.Bool, 1, func(i int) any { return i % 2 }, func(i int) uint64 { return uint64(i % 2) }},
	integers(sample.Int8, 1, math.MinInt8, 9),
	integers(sample.Uint8, 1, 0, 9),
	integers(sample.Int16, 2, math.MinInt16, 1009),
	integers(sample.Uint16, 2, 0, 1009),
	integers(sample.Int32, 4, math.MinInt32, 70_001),
	integers(sample.Uint32, 4, 0, 70_001),
	integers(sample.Int64, 8, math.MinInt64, 1<<40+1),
	{sample.Uint64, 8, func(i int) any { return math.MaxUint64 - uint64(i) }, func(i int) uint64 { return math.MaxUint64 - uint64(i) }},
	{sample.Float32, 4, func(i int) any { return float32(i) / 4 }, func(i int) uint64 { return uint64(math.Float32bits(float32(i) / 4)) }},
	{sample.Float64, 8, func(i int) any { return float64(i) / 10 }, func(i int) uint64 { return math.Float64bits(float64(i) / 10) }},
	integers(sample.Enum, 2, 0, 1),
}

// integers returns a type whose numbers begin at first.
func integers(t sample.Type, bytes int, first, step int64) scalar {
	at := func(i int) int64 { return first + int64(i)*step }
	switch t { // long arrays exceed the range of these types
	case sample.Int8:
		at = func(i int) int64 { return int64(int8(first + int64(i)*step)) }
	case sample.Uint8:
		at = func(i int) int64 { return int64(uint8(first + int64(i)*step)) }
	}
	return scalar{t, bytes, func(i int) any { return at(i) }, func(i int) uint64 { return uint64(at(i)) }}
}

// structure returns a pvAccess structure with a number and a text: its type, then its fields.
func structure(i int) value {
	x, text := float64(i)/2, fmt.Sprint("number ", i)
	b := []byte{0x80, 0}                                         // a structure without an ID
	b = append(b, 2)                                             // with two fields
	b = append(append(b, "\x01x"...), 0x43)                      // x, double
	b = append(append(b, "\x04text"...), 0x60)                   // text, string
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x)) // their values
	b = append(append(b, byte(len(text))), text...)
	return value{map[string]any{"x": x, "text": text}, func(o *sample.Sample) { o.Bytes = b }, nil}
}
