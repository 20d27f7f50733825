package proto

import "encoding/binary"

// Order is the byte order of a message.
type Order bool

// These are the byte orders.
const (
	LittleEndian Order = false
	BigEndian    Order = true
)

// Uint16 reads two bytes.
func (o Order) Uint16(b []byte) uint16 {
	if o == BigEndian {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

// Uint32 reads four bytes.
func (o Order) Uint32(b []byte) uint32 {
	if o == BigEndian {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

// Uint64 reads eight bytes.
func (o Order) Uint64(b []byte) uint64 {
	if o == BigEndian {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// AppendUint16 appends two bytes.
func (o Order) AppendUint16(dst []byte, v uint16) []byte {
	if o == BigEndian {
		return binary.BigEndian.AppendUint16(dst, v)
	}
	return binary.LittleEndian.AppendUint16(dst, v)
}

// AppendUint32 appends four bytes.
func (o Order) AppendUint32(dst []byte, v uint32) []byte {
	if o == BigEndian {
		return binary.BigEndian.AppendUint32(dst, v)
	}
	return binary.LittleEndian.AppendUint32(dst, v)
}

// AppendUint64 appends eight bytes.
func (o Order) AppendUint64(dst []byte, v uint64) []byte {
	if o == BigEndian {
		return binary.BigEndian.AppendUint64(dst, v)
	}
	return binary.LittleEndian.AppendUint64(dst, v)
}
