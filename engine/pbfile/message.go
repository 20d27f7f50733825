package pbfile

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Wire types of protobuf.
const (
	varint  = 0
	fixed64 = 1
	length  = 2
	fixed32 = 5
)

// Errors of messages.
var (
	errCut    = errors.New("the message is cut")
	errNumber = errors.New("a number of the message is damaged")
)

// field is one field of a message: a number in v, or bytes in b, which belong to the message.
type field struct {
	num, wire int
	v         uint64
	b         []byte
}

// nextField splits the first field from a message.
func nextField(msg []byte) (f field, rest []byte, err error) {
	key, n := binary.Uvarint(msg)
	if n <= 0 || key>>3 == 0 || key>>3 > 1<<29-1 {
		return f, nil, errNumber
	}
	f.num, f.wire, msg = int(key>>3), int(key&7), msg[n:]
	switch f.wire {
	case varint:
		if f.v, n = binary.Uvarint(msg); n <= 0 {
			return f, nil, errNumber
		}
		return f, msg[n:], nil
	case fixed64:
		if len(msg) < 8 {
			return f, nil, errCut
		}
		f.v = binary.LittleEndian.Uint64(msg)
		return f, msg[8:], nil
	case fixed32:
		if len(msg) < 4 {
			return f, nil, errCut
		}
		f.v = uint64(binary.LittleEndian.Uint32(msg))
		return f, msg[4:], nil
	case length:
		l, n := binary.Uvarint(msg)
		if n <= 0 {
			return f, nil, errNumber
		}
		if l > uint64(len(msg)-n) {
			return f, nil, errCut
		}
		f.b = msg[n : n+int(l)]
		return f, msg[n+int(l):], nil
	}
	return f, nil, fmt.Errorf("field %d has wire type %d, which protobuf no longer uses", f.num, f.wire)
}

// Field is a field of a record, with its value as text: a limit, the units, or one of the
// Appliance's own fields, such as cnxlostepsecs.
type Field struct{ Name, Value string }

// parseField parses a message FieldValue.
func parseField(msg []byte) (out Field, err error) {
	for len(msg) > 0 {
		var f field
		if f, msg, err = nextField(msg); err != nil {
			return out, err
		}
		if f.wire != length {
			continue
		}
		switch f.num {
		case 1:
			out.Name = string(f.b)
		case 2:
			out.Value = string(f.b)
		}
	}
	return out, nil
}

// unescape appends a line without its escapes. An escape that the format does not have is an error.
func unescape(dst, line []byte) ([]byte, error) {
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c != escape {
			dst = append(dst, c)
			continue
		}
		if i++; i == len(line) {
			return dst, errors.New("the line ends in the middle of an escape")
		}
		switch line[i] {
		case 1:
			dst = append(dst, escape)
		case 2:
			dst = append(dst, '\n')
		case 3:
			dst = append(dst, '\r')
		default:
			return dst, fmt.Errorf("the escape %d is unknown", line[i])
		}
	}
	return dst, nil
}

const escape = 0x1b
