package proto

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve.dev/varve/engine/sample"
)

// ErrTruncated means that a payload is smaller than its type and count require.
var ErrTruncated = errors.New("the payload is smaller than its type and count require")

// DecodeTime decodes the payload of a value of type t into s. t must be in TIME form. array
// reports whether the channel is an array. The value of an array may also have one element or
// no elements.
//
// For a scalar, DecodeTime sets s.Word. For a string it sets s.Bytes, which shares the memory
// of payload. For an array it sets s.Bytes to the elements in little-endian order, in the
// memory of scratch or payload. DecodeTime returns scratch, which may have grown, for the next
// call.
func DecodeTime(s *sample.Sample, t DBR, count uint32, array bool, payload, scratch []byte) ([]byte, error) {
	if t.Form() != TIME {
		return scratch, fmt.Errorf("decoding %v as a TIME type", t)
	}
	off := t.ValueOffset()
	if len(payload) < off {
		return scratch, ErrTruncated
	}
	s.Tag = sample.MakeTag(
		sample.Severity(binary.BigEndian.Uint16(payload[2:])), binary.BigEndian.Uint16(payload))
	s.Time = UnixNanos(binary.BigEndian.Uint32(payload[4:]), binary.BigEndian.Uint32(payload[8:]))
	value := payload[off:]
	if array {
		return decodeArray(s, t.Native(), count, value, scratch)
	}
	return scratch, decodeScalar(s, t.Native(), count, value)
}

// decodeScalar decodes the first element of value. A scalar cannot be empty.
func decodeScalar(s *sample.Sample, native DBR, count uint32, value []byte) error {
	need := native.ElemSize()
	if native == String { // servers may omit the bytes after the NUL of a string
		need = 0
	}
	if count == 0 || len(value) < need {
		return ErrTruncated
	}
	s.Word, s.Bytes = 0, nil
	switch native {
	case Double:
		s.Word = binary.BigEndian.Uint64(value)
	case Float:
		s.Word = uint64(binary.BigEndian.Uint32(value))
	case Long:
		s.Word = uint64(int64(int32(binary.BigEndian.Uint32(value))))
	case Short:
		s.Word = uint64(int64(int16(binary.BigEndian.Uint16(value))))
	case Enum:
		s.Word = uint64(binary.BigEndian.Uint16(value))
	case Char:
		s.Word = uint64(value[0])
	case String:
		s.Bytes = Text(value[:min(len(value), StringSize)])
	}
	return nil
}

// decodeArray decodes count elements of value.
func decodeArray(s *sample.Sample, native DBR, count uint32, value, scratch []byte) ([]byte, error) {
	size := uint64(count) * uint64(native.ElemSize())
	if uint64(len(value)) < size {
		return scratch, ErrTruncated
	}
	value = value[:size:size]
	s.Word, s.Bytes = 0, value
	if native == Char {
		return scratch, nil
	}
	dst := scratch[:0]
	switch native.ElemSize() {
	case 2:
		for ; len(value) > 0; value = value[2:] {
			dst = binary.LittleEndian.AppendUint16(dst, binary.BigEndian.Uint16(value))
		}
	case 4:
		for ; len(value) > 0; value = value[4:] {
			dst = binary.LittleEndian.AppendUint32(dst, binary.BigEndian.Uint32(value))
		}
	case 8:
		for ; len(value) > 0; value = value[8:] {
			dst = binary.LittleEndian.AppendUint64(dst, binary.BigEndian.Uint64(value))
		}
	default:
		for ; len(value) > 0; value = value[StringSize:] {
			text := Text(value[:StringSize])
			dst = binary.AppendUvarint(dst, uint64(len(text)))
			dst = append(dst, text...)
		}
	}
	s.Bytes = dst
	return dst, nil
}
