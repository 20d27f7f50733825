// Package value appends the values of samples to a buffer as text.
//
//	sample.Run, i ──▶ Format.Append ──▶ 3.0, 7, "text", [1.0,2.0], {"value":1.0}
//	                       └─ structures ── proto.Walk
package value

import (
	"math"
	"strconv"
	"unicode/utf8"

	"varve.dev/varve/engine/sample"
)

// Format has the texts for the numbers that JSON cannot express.
type Format struct{ NaN, Inf, NegInf string }

var (
	// Text is the form that Java, Python and the Archiver Appliance use.
	Text = Format{"NaN", "Infinity", "-Infinity"}
	// Numbers is valid JSON in which every number is a number or null. Every parser of
	// float64 reads 1e999 as infinity.
	Numbers = Format{"null", "1e999", "-1e999"}
	// Quoted is valid JSON in which these numbers are strings with their names.
	Quoted = Format{`"NaN"`, `"Infinity"`, `"-Infinity"`}
)

// Append appends the value of sample i as JSON, except for the numbers that the format
// defines. Floats always have a decimal point or an exponent, because some readers derive the
// type of a column from its first value. Enumerations become numbers, and structures become
// objects.
func (f *Format) Append(dst []byte, r *sample.Run, i int) []byte {
	if r.Type.Fixed() {
		return f.word(dst, r.Type, r.Words[i])
	}
	v := r.Value(i)
	switch r.Type {
	case sample.String:
		return AppendString(dst, v)
	case sample.String.Array():
		return appendStrings(dst, v)
	}
	if size := r.Type.ElemSize(); size > 0 {
		return f.array(dst, r.Type, v, len(v)/size)
	}
	return f.structure(dst, v)
}

func (f *Format) array(dst []byte, t sample.Type, v []byte, n int) []byte {
	dst = append(dst, '[')
	for k := range n {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = f.word(dst, t.Elem(), sample.Word(t, v, k))
	}
	return append(dst, ']')
}

func appendStrings(dst, v []byte) []byte {
	dst = append(dst, '[')
	for k, s := range sample.Strings(v) {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, s)
	}
	return append(dst, ']')
}

// word appends one number of type t.
func (f *Format) word(dst []byte, t sample.Type, w uint64) []byte {
	switch t {
	case sample.Float64:
		return f.Float(dst, math.Float64frombits(w), 64)
	case sample.Float32:
		return f.Float(dst, float64(math.Float32frombits(uint32(w))), 32)
	case sample.Uint64:
		return strconv.AppendUint(dst, w, 10)
	}
	return strconv.AppendInt(dst, int64(w), 10)
}

// Float appends the shortest text that parses as v. The size of v in bits is 32 or 64.
func (f *Format) Float(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, f.NaN...)
	case math.IsInf(v, 1):
		return append(dst, f.Inf...)
	case math.IsInf(v, -1):
		return append(dst, f.NegInf...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'g', -1, bits)
	for _, c := range dst[start:] {
		if c == '.' || c == 'e' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

const hex = "0123456789abcdef"

// AppendString appends a JSON string. Bytes that are not UTF-8, such as the degree sign of
// old IOCs, become U+FFFD.
func AppendString[S []byte | string](dst []byte, s S) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ' || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
		i++
	}
	return append(dst, '"')
}
