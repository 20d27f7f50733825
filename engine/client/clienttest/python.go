package clienttest

import (
	"fmt"
	"math"
	"strings"

	"varve.dev/varve/engine/sample"
)

// Texts returns the elements of a value as Python prints them.
func Texts(typ sample.Type, s *sample.Sample) []string {
	switch {
	case typ == sample.String:
		return []string{string(s.Bytes)}
	case typ == sample.String.Array():
		return sample.Strings(s.Bytes)
	case !typ.IsArray():
		return []string{number(typ, s.Word)}
	}
	out := []string{}
	for i := range len(s.Bytes) / typ.ElemSize() {
		out = append(out, number(typ, sample.Word(typ, s.Bytes, i)))
	}
	return out
}

func number(typ sample.Type, word uint64) string {
	if e := typ.Elem(); e == sample.Float64 || e == sample.Float32 {
		return Float(sample.Float(e, word))
	}
	return fmt.Sprint(int64(word))
}

// Float returns a number as Python prints it.
func Float(v float64) string {
	if math.IsNaN(v) {
		return "nan"
	}
	s := fmt.Sprint(v)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
