package proto

import (
	"fmt"

	"varve.dev/varve/engine/sample"
)

// DBR is the type of a value on the wire: one of seven native types in one of five forms. The
// following constants are those of db_access.h.
type DBR uint16

// These are the native types, in plain form.
const (
	String DBR = iota
	Short
	Float
	Enum
	Char
	Long
	Double

	numNative = iota
	lastDBR   = CTRL*numNative + Double
)

// The form determines what precedes the value: nothing, an alarm, a time, or limits.
const (
	Plain DBR = iota
	STS
	TIME
	GR
	CTRL
)

// These are the sizes in bytes of texts in values, and the maximum number of labels.
const (
	StringSize = 40 // a DBR_STRING
	UnitsSize  = 8  // engineering units
	LabelSize  = 26 // the name of a state of an enumeration
	MaxLabels  = 16
)

// In returns the native type t in a form: Double.In(TIME) is DBR_TIME_DOUBLE.
func (t DBR) In(form DBR) DBR { return form*numNative + t.Native() }

// Native returns the type without its form.
func (t DBR) Native() DBR { return t % numNative }

// Form returns Plain, STS, TIME, GR or CTRL.
func (t DBR) Form() DBR { return t / numNative }

// Valid reports whether t is a native type in a form. It is false for PUT_ACKT and the types
// after it.
func (t DBR) Valid() bool { return t <= lastDBR }

var (
	nativeNames = [numNative]string{"STRING", "SHORT", "FLOAT", "ENUM", "CHAR", "LONG", "DOUBLE"}
	formNames   = [...]string{"DBR_", "DBR_STS_", "DBR_TIME_", "DBR_GR_", "DBR_CTRL_"}
)

// String returns the name of the type in db_access.h.
func (t DBR) String() string {
	if !t.Valid() {
		return fmt.Sprintf("DBR(%d)", uint16(t))
	}
	return formNames[t.Form()] + nativeNames[t.Native()]
}

var elemSizes = [numNative]int{StringSize, 2, 4, 2, 1, 4, 8}

// ElemSize returns the size in bytes of one element. t must be valid.
func (t DBR) ElemSize() int { return elemSizes[t.Native()] }

// valueOffsets has the offset of the value by form and native type. It is the size of the
// structure in db_access.h up to the value, with its padding (RISC_pad).
var valueOffsets = [...][numNative]int{
	Plain: {},
	STS:   {4, 4, 4, 4, 5, 4, 8},
	TIME:  {12, 14, 12, 14, 15, 12, 16},
	GR:    {4, 24, 40, 422, 19, 36, 64},
	CTRL:  {4, 28, 48, 422, 21, 44, 80},
}

// ValueOffset returns the offset of the value in a payload. t must be valid.
func (t DBR) ValueOffset() int { return valueOffsets[t.Form()][t.Native()] }

// PayloadSize returns the size in bytes of a payload of count elements, without the padding at
// its end. t must be valid.
func (t DBR) PayloadSize(count int) int { return t.ValueOffset() + count*t.ElemSize() }

// sampleTypes maps native types to types of samples. CHAR of Channel Access is unsigned
// (dbr_char_t).
var sampleTypes = [numNative]sample.Type{
	sample.String, sample.Int16, sample.Float32, sample.Enum, sample.Uint8, sample.Int32, sample.Float64,
}

// SampleType returns the type of samples of a channel whose native type is t,
// or Unknown if t is not valid.
func (t DBR) SampleType(array bool) sample.Type {
	if !t.Valid() {
		return sample.Unknown
	}
	s := sampleTypes[t.Native()]
	if array {
		return s.Array()
	}
	return s
}

// NativeOf returns the native type that holds values of st without loss, and whether there is
// one.
func NativeOf(st sample.Type) (DBR, bool) {
	switch st.Elem() {
	case sample.Int8:
		return Short, !st.IsArray()
	case sample.Bool, sample.Uint8:
		return Char, true
	}
	for t, s := range sampleTypes {
		if s == st.Elem() {
			return DBR(t), true
		}
	}
	return 0, false
}
