package pbfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"varve.dev/varve/engine/sample"
)

// Errors of samples.
var (
	errNoTime  = errors.New("the sample has no time")
	errNoValue = errors.New("the sample has no value")
	// ErrTooLarge is the reason of a Problem: the value is larger than a stored value may be.
	ErrTooLarge = errors.New("the value has more than 16 MiB")
)

// maxValue is the size in bytes of the largest value.
const maxValue = 16 << 20

// event is a sample while its line is read.
type event struct {
	seconds, nanos     uint64
	severity, status   uint64
	word               uint64
	value              []byte // reused for all lines
	timed, nano, valid bool
	fields             []Field
}

func (e *event) reset() { *e = event{value: e.value[:0], fields: e.fields[:0]} }

// parse parses the message of a sample of a type.
func (e *event) parse(msg []byte, t sample.Type) (err error) {
	for len(msg) > 0 {
		var f field
		if f, msg, err = nextField(msg); err != nil {
			return err
		}
		switch f.num {
		case 1:
			e.seconds, e.timed = f.v, f.wire == varint
		case 2:
			e.nanos, e.nano = f.v, f.wire == varint
		case 3:
			if err := e.addValue(&f, t); err != nil {
				return err
			}
			e.valid = true
		case 4:
			e.severity = f.v
		case 5:
			e.status = f.v
		case 7:
			if err := e.addField(&f); err != nil {
				return err
			}
		}
	}
	if !e.timed || !e.nano {
		return errNoTime
	}
	if !e.valid && !t.IsArray() { // an empty array may be missing
		return errNoValue
	}
	return nil
}

func (e *event) addField(f *field) error {
	if f.wire != length || len(e.fields) == maxFields {
		return errNumber
	}
	v, err := parseField(f.b)
	e.fields = append(e.fields, v)
	return err
}

// tag returns the alarm of the sample.
func (e *event) tag() (sample.Tag, error) {
	if e.severity > uint64(sample.Invalid) || e.status > math.MaxUint16 {
		return 0, fmt.Errorf("severity %d with status %d is no alarm of EPICS", e.severity, e.status)
	}
	return sample.MakeTag(sample.Severity(e.severity), uint16(e.status)), nil
}

// addValue adds the field val of a sample. Arrays may have it several times.
func (e *event) addValue(f *field, t sample.Type) error {
	if t.Fixed() {
		return e.setScalar(f, t)
	}
	if err := e.addElements(f, t); err != nil {
		return err
	}
	if len(e.value) > maxValue {
		return ErrTooLarge
	}
	return nil
}

func (e *event) setScalar(f *field, t sample.Type) error {
	switch {
	case t == sample.Uint8 && f.wire == length && len(f.b) == 1:
		e.word = uint64(f.b[0])
	case wireOf(t) == f.wire && t != sample.Uint8:
		return e.setNumber(f.v, t)
	default:
		return wrongWire(f, t)
	}
	return nil
}

// setNumber sets the value of a scalar from the number in its field.
func (e *event) setNumber(v uint64, t sample.Type) error {
	switch t {
	case sample.Int16, sample.Enum:
		n, err := sint(v, t)
		e.word = uint64(n)
		return err
	case sample.Int32:
		e.word = uint64(int64(int32(uint32(v))))
	default:
		e.word = v
	}
	return nil
}

// wireOf returns the wire type of an element of a type.
func wireOf(t sample.Type) int {
	switch t.Elem() {
	case sample.Int16, sample.Enum:
		return varint
	case sample.Int32, sample.Float32:
		return fixed32
	case sample.Float64:
		return fixed64
	}
	return length
}

func wrongWire(f *field, t sample.Type) error {
	return fmt.Errorf("the value has wire type %d, which a value of type %v does not have", f.wire, t)
}

// sint returns a zigzag number if it fits the type. A state of an enumeration is stored as uint16.
func sint(v uint64, t sample.Type) (int64, error) {
	n := int64(v>>1) ^ -int64(v&1)
	low, high := int64(math.MinInt16), int64(math.MaxInt16)
	if t.Elem() == sample.Enum {
		low, high = 0, math.MaxUint16
	}
	if n < low || n > high {
		return 0, fmt.Errorf("the value %d does not fit into type %v", n, t)
	}
	return n, nil
}

// addElements adds a field val of a string or an array.
func (e *event) addElements(f *field, t sample.Type) error {
	wire := wireOf(t)
	switch {
	case f.wire == length && wire == length:
		switch t {
		case sample.String.Array():
			e.value = append(binary.AppendUvarint(e.value, uint64(len(f.b))), f.b...)
		case sample.String:
			e.value = append(e.value[:0], f.b...)
		default:
			e.value = append(e.value, f.b...)
		}
		return nil
	case f.wire == length && wire == varint:
		return e.addPacked(f.b, t)
	case f.wire == length: // packed numbers of fixed width, little-endian like ours
		if len(f.b)%t.ElemSize() != 0 {
			return fmt.Errorf("%d bytes are no whole number of elements of type %v", len(f.b), t)
		}
		e.value = append(e.value, f.b...)
	case f.wire == wire && wire == varint:
		n, err := sint(f.v, t)
		e.value = binary.LittleEndian.AppendUint16(e.value, uint16(n))
		return err
	case f.wire == wire && wire == fixed32:
		e.value = binary.LittleEndian.AppendUint32(e.value, uint32(f.v))
	case f.wire == wire && wire == fixed64:
		e.value = binary.LittleEndian.AppendUint64(e.value, f.v)
	default:
		return wrongWire(f, t)
	}
	return nil
}

// addPacked adds packed zigzag numbers.
func (e *event) addPacked(b []byte, t sample.Type) error {
	for len(b) > 0 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return errNumber
		}
		x, err := sint(v, t)
		if err != nil {
			return err
		}
		e.value, b = binary.LittleEndian.AppendUint16(e.value, uint16(x)), b[n:]
	}
	return nil
}
