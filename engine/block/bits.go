package block

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// packedLen returns the number of bytes that n values of width bits take.
func packedLen(n, width int) int { return (n*width + 7) / 8 }

// slack is the number of bytes that pack may write, and unpack may read, beyond the last
// value. Both work on whole words of 8 bytes.
const slack = 8

// pack subtracts base from each value and appends the low width bits of the result. The first
// value takes the lowest bits of the first byte.
func pack(dst []byte, vals []int64, base int64, width int) []byte {
	if width == 0 {
		return dst
	}
	end := len(dst) + packedLen(len(vals), width)
	dst = slices.Grow(dst, end+slack-len(dst))
	out := dst[len(dst) : end+slack]
	switch {
	case len(vals) < 8:
	case width <= 8:
		vals, out = packBytes(out, vals, base, width)
	case width <= 16:
		vals, out = packShorts(out, vals, base, width)
	}
	mask := ^uint64(0) >> (64 - width)
	var acc uint64
	have := 0 // bits of acc in use, always < 64
	for _, v := range vals {
		u := (uint64(v) - uint64(base)) & mask
		acc |= u << (have & 63)
		if have += width; have >= 64 {
			binary.LittleEndian.PutUint64(out, acc)
			out = out[8:]
			have -= 64
			acc = u >> (width - have) // a shift by 64 gives 0
		}
	}
	if have > 0 {
		binary.LittleEndian.PutUint64(out, acc)
	}
	return dst[:end]
}

// packBytes packs values of up to 8 bits in groups of eight, which fit into one word. It
// returns the remaining values and the rest of out.
func packBytes(out []byte, vals []int64, base int64, width int) ([]int64, []byte) {
	mask, w := ^uint64(0)>>(64-width), width&63
	for len(vals) >= 8 {
		v := vals[:8]
		var acc uint64
		for i := 7; i >= 0; i-- {
			acc = acc<<w | (uint64(v[i])-uint64(base))&mask
		}
		binary.LittleEndian.PutUint64(out, acc)
		vals, out = vals[8:], out[width:]
	}
	return vals, out
}

// packShorts is packBytes for values of 9 to 16 bits, four values per word.
func packShorts(out []byte, vals []int64, base int64, width int) ([]int64, []byte) {
	mask, half, odd := ^uint64(0)>>(64-width), 4*width>>3, 4*width&7
	w, w2, w3 := width&63, 2*width&63, 3*width&63
	for len(vals) >= 8 {
		v := vals[:8]
		b := uint64(base)
		low := (uint64(v[0])-b)&mask | (uint64(v[1])-b)&mask<<w | (uint64(v[2])-b)&mask<<w2 | (uint64(v[3])-b)&mask<<w3
		high := (uint64(v[4])-b)&mask | (uint64(v[5])-b)&mask<<w | (uint64(v[6])-b)&mask<<w2 | (uint64(v[7])-b)&mask<<w3
		binary.LittleEndian.PutUint64(out, low)
		binary.LittleEndian.PutUint64(out[half:], high<<odd|low>>(4*width-odd)&(1<<odd-1))
		vals, out = vals[8:], out[width:]
	}
	return vals, out
}

// unpack fills vals from packed values of width bits and adds base to each. It returns the
// bytes that follow them.
func unpack(vals []int64, src []byte, base int64, width int) ([]byte, error) {
	if width > 64 || len(src) < packedLen(len(vals), width) {
		return nil, ErrCorrupt
	}
	size := packedLen(len(vals), width)
	i := 0
	switch {
	case width == 0:
		for i := range vals {
			vals[i] = base
		}
		return src, nil
	case len(vals) < 8:
	case width <= 8:
		i = unpackBytes(vals, src, base, width)
	case width <= 16:
		i = unpackShorts(vals, src, base, width)
	}
	mask := ^uint64(0) >> (64 - width)
	bit := i * width
	if width <= 56 {
		for ; i < len(vals) && bit>>3+slack <= len(src); i++ {
			v := binary.LittleEndian.Uint64(src[bit>>3:]) >> (bit & 7)
			vals[i] = int64(v&mask) + base
			bit += width
		}
	}
	for ; i < len(vals) && bit>>3+slack < len(src); i++ {
		vals[i] = int64(bitsAt(src, bit)&mask) + base
		bit += width
	}
	if i < len(vals) {
		var tail [3 * slack]byte
		from := bit >> 3
		copy(tail[:], src[from:size])
		for bit &= 7; i < len(vals); i++ {
			vals[i] = int64(bitsAt(tail[:], bit)&mask) + base
			bit += width
		}
	}
	return src[size:], nil
}

// bitsAt returns 64 bits of src, starting at position bit. It reads 9 bytes, which must exist.
func bitsAt(src []byte, bit int) uint64 {
	at, shift := bit>>3, bit&7
	return binary.LittleEndian.Uint64(src[at:])>>shift | uint64(src[at+8])<<1<<(63-shift)
}

// unpackBytes unpacks values of up to 8 bits in groups of eight, as long as src has a whole
// word for each group. It returns the number of values.
func unpackBytes(vals []int64, src []byte, base int64, width int) int {
	mask, w := ^uint64(0)>>(64-width), width&63
	i := 0
	for ; i+8 <= len(vals) && len(src) >= slack; i += 8 {
		acc := binary.LittleEndian.Uint64(src)
		v := vals[i : i+8 : i+8]
		for k := range v {
			v[k] = int64(acc&mask) + base
			acc >>= w
		}
		src = src[width:]
	}
	return i
}

// unpackShorts is unpackBytes for values of 9 to 16 bits, four values per word.
func unpackShorts(vals []int64, src []byte, base int64, width int) int {
	mask, half, odd := ^uint64(0)>>(64-width), 4*width>>3, 4*width&7
	w, w2, w3 := width&63, 2*width&63, 3*width&63
	i := 0
	for ; i+8 <= len(vals) && len(src) >= half+slack; i += 8 {
		low, high := binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[half:])>>odd
		v := vals[i : i+8 : i+8]
		v[0], v[4] = int64(low&mask)+base, int64(high&mask)+base
		v[1], v[5] = int64(low>>w&mask)+base, int64(high>>w&mask)+base
		v[2], v[6] = int64(low>>w2&mask)+base, int64(high>>w2&mask)+base
		v[3], v[7] = int64(low>>w3&mask)+base, int64(high>>w3&mask)+base
		src = src[width:]
	}
	return i
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// readUvarint reads a uvarint that must not exceed most.
func readUvarint(src []byte, most uint64) (uint64, []byte, error) {
	u, w := binary.Uvarint(src)
	if w <= 0 || u > most {
		return 0, nil, ErrCorrupt
	}
	return u, src[w:], nil
}

// readVarint reads a zigzag uvarint.
func readVarint(src []byte) (int64, []byte, error) {
	u, w := binary.Uvarint(src)
	if w <= 0 {
		return 0, nil, ErrCorrupt
	}
	return unzigzag(u), src[w:], nil
}

func appendVarint(dst []byte, v int64) []byte { return binary.AppendUvarint(dst, zigzag(v)) }

// widthOf returns the number of bits that hold high - low.
func widthOf(low, high int64) int { return bits.Len64(uint64(high) - uint64(low)) }
