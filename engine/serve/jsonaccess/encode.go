package jsonaccess

import (
	"math"
	"strconv"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
)

// Qualities of items.
const (
	original     = "Original"     // a stored sample
	interpolated = "Interpolated" // computed from samples
)

// Types of items.
const (
	typeDouble = "double"
	typeLong   = "long"
	typeEnum   = "enum"
	typeString = "string"
)

// levels are the names of severities.
var levels = [...]string{sample.NoAlarm: "OK", sample.Minor: "MINOR", sample.Major: "MAJOR", sample.Invalid: "INVALID"}

func level(s sample.Severity) string { return levels[min(s, sample.Invalid)] }

// appendHead begins an item:
//
//	{"time":…,"severity":{"level":"OK","hasValue":true},"status":"NO_ALARM","quality":"Original"
func appendHead(dst []byte, at int64, severity sample.Severity, hasValue bool, status, quality string) []byte {
	dst = strconv.AppendInt(append(dst, `{"time":`...), at, 10)
	dst = append(append(dst, `,"severity":{"level":"`...), level(severity)...)
	dst = strconv.AppendBool(append(dst, `","hasValue":`...), hasValue)
	dst = append(append(dst, `},"status":"`...), status...)
	dst = append(append(dst, `","quality":"`...), quality...)
	return append(dst, '"')
}

// typeOf returns the type of sample i of a run. The protocol has no unsigned integers of 64 bits.
// Those that do not fit are texts, because clients would round them or stop reading.
func typeOf(r *sample.Run, i int) string {
	switch r.Type.Elem() {
	case sample.Float32, sample.Float64:
		return typeDouble
	case sample.Enum:
		return typeEnum
	case sample.String, sample.Struct:
		return typeString
	case sample.Uint64:
		for k := range words(r, i) {
			if word(r, i, k) > math.MaxInt64 {
				return typeString
			}
		}
	}
	return typeLong
}

// appendValue appends the value of sample i of a run, as a list. typ is its typeOf.
func appendValue(dst []byte, r *sample.Run, i int, typ string) []byte {
	switch {
	case r.Type.Elem() == sample.Struct:
		return append(value.AppendString(append(dst, '['), value.Quoted.Append(nil, r, i)), ']')
	case r.Type.Elem() == sample.Uint64 && typ == typeString:
		return appendDigits(dst, r, i)
	case r.Type.IsArray():
		return value.Quoted.Append(dst, r, i)
	}
	return append(value.Quoted.Append(append(dst, '['), r, i), ']')
}

// appendDigits appends integers as texts.
func appendDigits(dst []byte, r *sample.Run, i int) []byte {
	dst = append(dst, '[')
	for k := range words(r, i) {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = append(strconv.AppendUint(append(dst, '"'), word(r, i, k), 10), '"')
	}
	return append(dst, ']')
}

// words returns the number of integers of sample i, and word returns one of them.
func words(r *sample.Run, i int) int {
	if r.Type.Fixed() {
		return 1
	}
	return len(r.Value(i)) / r.Type.ElemSize()
}

func word(r *sample.Run, i, k int) uint64 {
	if r.Type.Fixed() {
		return r.Words[i]
	}
	return sample.Word(r.Type, r.Value(i), k)
}

// appendNumeric appends metadata of numbers, as a member of an item.
func appendNumeric(dst []byte, m *sample.Metadata) []byte {
	dst = append(dst, `,"metaData":{"type":"numeric","precision":`...)
	dst = strconv.AppendInt(dst, int64(m.Precision), 10)
	dst = value.AppendString(append(dst, `,"units":`...), m.Units)
	limits := m.Limits()
	for i, name := range [...]string{"displayLow", "displayHigh", "warnLow", "warnHigh", "alarmLow", "alarmHigh"} {
		dst = append(append(append(dst, `,"`...), name...), `":`...)
		dst = value.Quoted.Float(dst, limits[i], 64)
	}
	return append(dst, '}')
}

// appendStates appends metadata of enumerations, as a member of an item.
func appendStates(dst []byte, labels []string) []byte {
	dst = append(dst, `,"metaData":{"type":"enum","states":[`...)
	for i, label := range labels {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value.AppendString(dst, label)
	}
	return append(dst, "]}"...)
}
