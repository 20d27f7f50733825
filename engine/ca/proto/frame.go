package proto

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
)

// These are the sizes in bytes of the two forms of a header. The extended form begins with a
// short form whose size is 0xFFFF and whose count is 0.
const (
	HeaderSize         = 16
	ExtendedHeaderSize = 24

	extended = 0xffff
	align    = 8
)

// Header is the header of a message. The meaning of Type, Count and the parameters depends on
// the command and the direction.
type Header struct {
	Command Command
	Type    uint16
	// Size is the size of the payload in bytes, including its padding.
	Size  uint32
	Count uint32
	// P1 and P2 are m_cid and m_available of caProto.h.
	P1, P2 uint32
}

// ReadFrame returns these errors.
var (
	// ErrShort means that the bytes end before the frame does. The caller must read more and
	// try again.
	ErrShort = errors.New("the frame is cut short")
	// ErrTooLarge means that the payload is larger than the limit.
	ErrTooLarge = errors.New("the payload is larger than allowed")
)

// ReadFrame parses the frame at the start of b into h. It returns the payload, which shares
// the memory of b, and n, the size of the frame in bytes. With ErrShort, n is the minimum
// number of bytes needed, and h.Command is set if b has HeaderSize bytes. ReadFrame returns
// ErrTooLarge for a payload of more than maxSize bytes. Then h is set and n is the size of the
// header, so that the caller can skip h.Size more bytes and continue.
func ReadFrame(b []byte, h *Header, maxSize uint32) (payload []byte, n int, err error) {
	if n, err = readHeader(b, h); err != nil {
		return nil, n, err
	}
	if h.Size > maxSize {
		return nil, n, ErrTooLarge
	}
	end := n + int(h.Size)
	if len(b) < end {
		return nil, end, ErrShort
	}
	return b[n:end:end], end, nil
}

// readHeader parses the header at the start of b and returns its size. With ErrShort it
// returns the number of bytes needed.
func readHeader(b []byte, h *Header) (int, error) {
	if len(b) < HeaderSize {
		return HeaderSize, ErrShort
	}
	h.Command = Command(binary.BigEndian.Uint16(b))
	h.Size = uint32(binary.BigEndian.Uint16(b[2:]))
	h.Type = binary.BigEndian.Uint16(b[4:])
	h.Count = uint32(binary.BigEndian.Uint16(b[6:]))
	h.P1 = binary.BigEndian.Uint32(b[8:])
	h.P2 = binary.BigEndian.Uint32(b[12:])
	if h.Size != extended || h.Count != 0 {
		return HeaderSize, nil
	}
	if len(b) < ExtendedHeaderSize {
		return ExtendedHeaderSize, ErrShort
	}
	h.Size = binary.BigEndian.Uint32(b[16:])
	h.Count = binary.BigEndian.Uint32(b[20:])
	return ExtendedHeaderSize, nil
}

// AppendHeader appends h. It uses the extended form only if h does not fit into the short
// form. h.Size must be a multiple of 8.
func AppendHeader(dst []byte, h Header) []byte {
	size, count := h.Size, h.Count
	large := size >= extended || count > math.MaxUint16
	if large {
		size, count = extended, 0
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.Command))
	dst = binary.BigEndian.AppendUint16(dst, uint16(size))
	dst = binary.BigEndian.AppendUint16(dst, h.Type)
	dst = binary.BigEndian.AppendUint16(dst, uint16(count))
	dst = binary.BigEndian.AppendUint32(dst, h.P1)
	dst = binary.BigEndian.AppendUint32(dst, h.P2)
	if large {
		dst = binary.BigEndian.AppendUint32(dst, h.Size)
		dst = binary.BigEndian.AppendUint32(dst, h.Count)
	}
	return dst
}

// Padded returns the size of a payload of n bytes, including its padding.
func Padded(n int) int { return (n + align - 1) &^ (align - 1) }

// appendZeros appends n zero bytes.
func appendZeros(dst []byte, n int) []byte {
	const zeros = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	for ; n > len(zeros); n -= len(zeros) {
		dst = append(dst, zeros...)
	}
	return append(dst, zeros[:n]...)
}

// appendText appends a message whose payload is text, NUL-terminated and padded.
func appendText(dst []byte, h Header, text string) []byte {
	size := Padded(len(text) + 1)
	h.Size = uint32(size)
	dst = AppendHeader(dst, h)
	dst = append(dst, text...)
	return appendZeros(dst, size-len(text))
}

// Text returns the text of a payload: the bytes before the first NUL. The result shares the
// memory of b.
func Text(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i:i]
	}
	return b
}
