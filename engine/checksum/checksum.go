// Package checksum appends a CRC-32C to stored bytes, and verifies it when they are read:
//
//	bytes ──▶ Append ──▶ bytes, CRC-32C (4 bytes, little-endian) ──▶ Strip ──▶ bytes
//
// The polynomial is Castagnoli's, as in RFC 3720, section 12.1.
package checksum

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// Size is the number of bytes that Append adds.
const Size = 4

// ErrMismatch is returned for bytes that have changed since Append.
var ErrMismatch = errors.New("the checksum does not match")

var table = crc32.MakeTable(crc32.Castagnoli)

// Append appends the checksum of dst[from:] to dst. The checksum also covers the bytes in
// context, which are stored elsewhere.
func Append(dst []byte, from int, context ...byte) []byte {
	return binary.LittleEndian.AppendUint32(dst, sum(dst[from:], context))
}

// Strip verifies the checksum at the end of src, and returns the bytes before it.
func Strip(src []byte, context ...byte) ([]byte, error) {
	n := len(src) - Size
	if n < 0 || sum(src[:n], context) != binary.LittleEndian.Uint32(src[n:]) {
		return nil, ErrMismatch
	}
	return src[:n:n], nil
}

func sum(b, context []byte) uint32 { return crc32.Update(crc32.Checksum(context, table), table, b) }
