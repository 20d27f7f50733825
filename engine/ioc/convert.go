package ioc

import (
	"math"
	"strconv"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
)

// encoder makes values of PVs in the types that clients ask for. It reuses its
// memory: what it returns holds until the next call.
type encoder struct{ text []byte }

// convertible reports whether values of a kind can be had as native type to:
// numbers and states as anything, texts as texts only.
func convertible(k Kind, to proto.DBR) bool { return k != String || to == proto.String }

// value returns the value of a PV as native type to, to which it is convertible.
func (e *encoder) value(p pv, to proto.DBR, tick int64) sample.Sample {
	if p.kind == String {
		e.text = appendText(e.text[:0], int(p.index), tick)
		return sample.Sample{Bytes: e.text}
	}
	word, tag := number(p.kind, int(p.index), tick)
	s := sample.Sample{Word: word, Tag: tag}
	switch native := traits[p.kind].native; {
	case to == native:
	case to == proto.String:
		e.text = appendLabel(e.text[:0], p.kind, word)
		s.Word, s.Bytes = 0, e.text
	case native == proto.Double:
		s.Word = fromFloat(math.Float64frombits(word), to)
	default:
		s.Word = fromInt(int64(word), to)
	}
	return s
}

// appendLabel appends a number as people read it: with the precision of its
// kind, or as the label of a state.
func appendLabel(dst []byte, k Kind, word uint64) []byte {
	m := &metadata[k]
	switch traits[k].native {
	case proto.Double:
		return strconv.AppendFloat(dst, math.Float64frombits(word), 'f', m.Precision, 64)
	case proto.Enum:
		return append(dst, m.Labels[word]...)
	}
	return strconv.AppendInt(dst, int64(word), 10)
}

// fromFloat returns the word of a float as type to. Floats of PVs fit in an
// int64; types of fewer bits keep the low ones, as in EPICS base.
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
