package ca

import (
	"encoding/binary"
	"math"
	"strconv"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc/sim"
)

// natives has the native type of each kind.
var natives = func() (all [sim.NumKinds]proto.DBR) {
	for _, k := range sim.Kinds() {
		t, ok := proto.NativeOf(k.Type())
		if !ok {
			panic("BUG: a kind of PV that Channel Access has no type for")
		}
		all[k] = t
	}
	return all
}()

// encoder encodes values of PVs in the types that clients request. It reuses its memory: a
// returned value is valid until the next call.
type encoder struct {
	set        *sim.Set
	text, wave []byte
}

// convertible reports whether values of a kind can be converted to native type to. Numbers and
// states can be converted to any type, and strings only to strings.
func convertible(k sim.Kind, to proto.DBR) bool { return k != sim.String || to == proto.String }

// value returns the value of a PV as native type to. The kind must be convertible to this
// type. For an array, value returns the given number of elements from the start.
func (e *encoder) value(p sim.PV, to proto.DBR, elements int, tick int64) sample.Sample {
	native := natives[p.Kind]
	switch p.Kind {
	case sim.String:
		e.text = p.AppendText(e.text[:0], tick)
		return sample.Sample{Bytes: e.text}
	case sim.Wave:
		e.wave = p.AppendWave(e.wave[:0], tick, elements)
		if to == native {
			return sample.Sample{Bytes: e.wave}
		}
		return sample.Sample{Bytes: e.convert(p.Kind, to)}
	}
	word, tag := p.Number(tick)
	s := sample.Sample{Word: word, Tag: tag}
	switch {
	case to == native:
	case to == proto.String:
		e.text = e.appendLabel(e.text[:0], p.Kind, word)
		s.Word, s.Bytes = 0, e.text
	default:
		s.Word = convertWord(word, native, to)
	}
	return s
}

// convert returns the elements in e.wave as type to.
func (e *encoder) convert(k sim.Kind, to proto.DBR) []byte {
	e.text = e.text[:0]
	var label [32]byte
	for b := e.wave; len(b) > 0; b = b[8:] {
		word := binary.LittleEndian.Uint64(b)
		if to == proto.String {
			text := e.appendLabel(label[:0], k, word)
			e.text = append(binary.AppendUvarint(e.text, uint64(len(text))), text...)
			continue
		}
		word = convertWord(word, proto.Double, to)
		for range to.ElemSize() {
			e.text = append(e.text, byte(word))
			word >>= 8
		}
	}
	return e.text
}

// appendLabel appends a number as readable text: with the precision of its kind, or as the
// label of a state.
func (e *encoder) appendLabel(dst []byte, k sim.Kind, word uint64) []byte {
	m := e.set.Metadata(k)
	switch natives[k] {
	case proto.Double:
		return strconv.AppendFloat(dst, math.Float64frombits(word), 'f', m.Precision, 64)
	case proto.Enum:
		return append(dst, m.Labels[word]...)
	}
	return strconv.AppendInt(dst, int64(word), 10)
}

// convertWord converts a number from one type to another.
func convertWord(word uint64, from, to proto.DBR) uint64 {
	if from == proto.Double {
		return fromFloat(math.Float64frombits(word), to)
	}
	return fromInt(int64(word), to)
}

// fromFloat converts a float to the word of type to. Floats of PVs fit in an int64. Smaller
// integer types keep the low bits, as in EPICS base.
func fromFloat(v float64, to proto.DBR) uint64 {
	if to == proto.Float {
		return uint64(math.Float32bits(float32(v)))
	}
	return uint64(int64(v))
}

func fromInt(v int64, to proto.DBR) uint64 {
	switch to {
	case proto.Double:
		return math.Float64bits(float64(v))
	case proto.Float:
		return uint64(math.Float32bits(float32(v)))
	}
	return uint64(v)
}
