package rdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"varve.dev/varve/engine/sample"
)

func lower(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// value returns the value of a row. As in Phoebus, float_val counts before num_val, and num_val before str_val.
func (r *channelReader) value(x *row) (sample.Type, sample.Sample, error) {
	s := sample.Sample{Time: x.at, Tag: x.tag}
	switch {
	case x.float.Valid:
		return r.floats(x, s)
	case x.num.Valid && r.labels != nil && x.num.Int64 >= 0 && x.num.Int64 <= math.MaxUint16:
		s.Word = uint64(x.num.Int64)
		return sample.Enum, s, nil
	case x.num.Valid:
		s.Word = uint64(x.num.Int64)
		if r.wide {
			return sample.Int64, s, nil
		}
		return sample.Int32, s, nil
	case x.text.Valid:
		s.Bytes = []byte(x.text.String)
		return sample.String, s, nil
	}
	return 0, s, errors.New("the row has no value")
}

// floats returns the value of a row with float_val, which is the first element if the value is an array.
func (r *channelReader) floats(x *row, s sample.Sample) (sample.Type, sample.Sample, error) {
	if kind := strings.TrimSpace(x.datatype.String); kind != "" {
		if x.size.Int64 > maxBlob {
			return 0, s, fmt.Errorf("array_val has %d bytes, more than %d", x.size.Int64, maxBlob)
		}
		elements, err := blob(kind, x.blob)
		s.Bytes = elements
		return sample.Float64.Array(), s, err
	}
	v := x.float.Float64
	if lower(x.status) == notANumber {
		v = math.NaN()
	}
	if r.arrays != nil {
		elements, err := r.arrays.elements(x.key)
		if err != nil {
			return 0, s, err
		}
		if len(elements) > 0 {
			s.Bytes = append(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)), elements...)
			return sample.Float64.Array(), s, nil
		}
	}
	if r.labels != nil && v >= 0 && v <= math.MaxUint16 && v == math.Trunc(v) {
		s.Word = uint64(v)
		return sample.Enum, s, nil
	}
	s.Word = math.Float64bits(v)
	return sample.Float64, s, nil
}

// blob decodes array_val: the number of elements, and the elements, big-endian as Java's DataOutputStream
// writes them. It returns the elements as sample.Sample has them.
func blob(kind string, b []byte) ([]byte, error) {
	if kind != "d" {
		return nil, fmt.Errorf("arrays of the datatype %q cannot be read", kind)
	}
	if len(b) < 4 {
		return nil, fmt.Errorf("array_val has %d bytes, fewer than its length takes", len(b))
	}
	n := int64(int32(binary.BigEndian.Uint32(b)))
	if b = b[4:]; n < 0 || int64(len(b)) != 8*n {
		return nil, fmt.Errorf("array_val declares %d elements, and has %d bytes of them", n, len(b))
	}
	out := make([]byte, 0, len(b))
	for ; len(b) > 0; b = b[8:] {
		out = binary.LittleEndian.AppendUint64(out, binary.BigEndian.Uint64(b))
	}
	return out, nil
}
