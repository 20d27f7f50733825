package block

import (
	"encoding/binary"
	"math/bits"
)

// packedLen returns the bytes that n values of width bits take.
func packedLen(n, width int) int { return (n*width + 7) / 8 }

// pack appends the low width bits of each value, the first value in the lowest
// bits of the first byte.
func pack(dst []byte, vals []uint64, width int) []byte {
	if width == 0 {
		return dst
	}
	var acc uint64
	have := 0 // bits of acc in use, always < 64
	for _, v := range vals {
		acc |= v << have
		if have += width; have >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, acc)
			have -= 64
			acc = v >> (width - have) // a shift by 64 gives 0
		}
	}
	for ; have > 0; have -= 8 {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	return dst
}

// unpack fills vals from packed values of width bits, and returns what follows
// them.
func unpack(vals []uint64, src []byte, width int) ([]byte, error) {
	if width > 64 || len(src) < packedLen(len(vals), width) {
		return nil, ErrCorrupt
	}
	size := packedLen(len(vals), width)
	if width == 0 {
		clear(vals)
		return src, nil
	}
	mask := ^uint64(0) >> (64 - width)
	i, bit := 0, 0
	for ; i < len(vals) && bit>>3+16 <= len(src); i++ { // both loads are inside src
		at, shift := bit>>3, bit&7
		v := binary.LittleEndian.Uint64(src[at:]) >> shift
		if shift+width > 64 {
			v |= uint64(src[at+8]) << (64 - shift)
		}
		vals[i] = v & mask
		bit += width
	}
	var tail [32]byte
	base := bit >> 3
	copy(tail[:], src[min(base, size):size])
	for ; i < len(vals); i++ {
		at, shift := bit>>3-base, bit&7
		v := binary.LittleEndian.Uint64(tail[at:]) >> shift
		if shift+width > 64 {
			v |= uint64(tail[at+8]) << (64 - shift)
		}
		vals[i] = v & mask
		bit += width
	}
	return src[size:], nil
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// span returns the smallest of vals and the bits needed for the distance of the
// others from it.
func span(vals []int64) (low int64, width int) {
	low, high := vals[0], vals[0]
	for _, v := range vals[1:] {
		low, high = min(low, v), max(high, v)
	}
	return low, bits.Len64(uint64(high) - uint64(low))
}

const deltaBit = 0x80

// appendInts appends a column of integers: plain when that takes no more bits
// than their differences. It overwrites s.bits, and vals if they are differenced.
func appendInts(dst []byte, vals []int64, s *scratch) []byte {
	low, width := span(vals)
	first, kind := vals[0], byte(0)
	if len(vals) > 2 && width > 0 {
		if dlow, dwidth := deltaSpan(vals); dwidth < width {
			kind = deltaBit
			for i := len(vals) - 1; i > 0; i-- {
				vals[i] = int64(uint64(vals[i]) - uint64(vals[i-1]))
			}
			vals, low, width = vals[1:], dlow, dwidth
		}
	}
	dst = append(dst, kind|byte(width))
	if kind == deltaBit {
		dst = binary.AppendUvarint(dst, zigzag(first))
	}
	dst = binary.AppendUvarint(dst, zigzag(low))
	packed := s.bits[:len(vals)]
	for i, v := range vals {
		packed[i] = uint64(v) - uint64(low)
	}
	return pack(dst, packed, width)
}

// deltaSpan is span of the differences of neighbours. Differences wrap around,
// which undoes itself when they are added up.
func deltaSpan(vals []int64) (low int64, width int) {
	low = int64(uint64(vals[1]) - uint64(vals[0]))
	high := low
	for i := 2; i < len(vals); i++ {
		d := int64(uint64(vals[i]) - uint64(vals[i-1]))
		low, high = min(low, d), max(high, d)
	}
	return low, bits.Len64(uint64(high) - uint64(low))
}

// decodeInts fills vals and returns what follows the column.
func decodeInts(vals []int64, src []byte, s *scratch) ([]byte, error) {
	if len(src) == 0 {
		return nil, ErrCorrupt
	}
	kind := src[0]
	src = src[1:]
	out, width := vals, int(kind&^deltaBit)
	var err error
	if kind&deltaBit != 0 {
		if vals[0], src, err = decodeVarint(src); err != nil {
			return nil, err
		}
		out = vals[1:]
	}
	low, src, err := decodeVarint(src)
	if err != nil {
		return nil, err
	}
	packed := s.bits[:len(out)]
	if src, err = unpack(packed, src, width); err != nil {
		return nil, err
	}
	for i, p := range packed {
		out[i] = int64(p + uint64(low))
	}
	if kind&deltaBit != 0 {
		for i := range out {
			vals[i+1] = int64(uint64(vals[i]) + uint64(vals[i+1]))
		}
	}
	return src, nil
}

func decodeVarint(src []byte) (int64, []byte, error) {
	u, w := binary.Uvarint(src)
	if w <= 0 {
		return 0, nil, ErrCorrupt
	}
	return unzigzag(u), src[w:], nil
}
