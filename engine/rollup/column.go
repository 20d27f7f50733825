package rollup

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// encoder appends columns to dst.
type encoder struct {
	dst     []byte
	scratch []int64
}

// column appends one integer for each bin.
func (e *encoder) column(bins []Bin, of func(*Bin) int64) {
	e.scratch = e.scratch[:0]
	for i := range bins {
		e.scratch = append(e.scratch, of(&bins[i]))
	}
	e.ints(e.scratch)
}

// differences is the bit in the first byte of a column that marks a column of differences.
const differences = 0x80

// ints appends a column of integers, either the values or their differences, whichever is
// shorter.
func (e *encoder) ints(v []int64) {
	if len(v) == 0 {
		return
	}
	low, width := span(len(v), func(i int) int64 { return v[i] })
	lowD, widthD := span(len(v)-1, func(i int) int64 { return v[i+1] - v[i] })
	if len(v) > 2 && widthD < width {
		e.dst = binary.AppendVarint(append(e.dst, differences|byte(widthD)), v[0])
		e.dst = binary.AppendVarint(e.dst, lowD)
		e.bits(len(v)-1, widthD, func(i int) uint64 { return uint64(v[i+1] - v[i] - lowD) })
		return
	}
	e.dst = binary.AppendVarint(append(e.dst, byte(width)), low)
	e.bits(len(v), width, func(i int) uint64 { return uint64(v[i] - low) })
}

// span returns the smallest of n numbers and the number of bits that the distances from it
// need.
func span(n int, of func(int) int64) (low int64, width int) {
	if n == 0 {
		return 0, 0
	}
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range n {
		low, high = min(low, of(i)), max(high, of(i))
	}
	return low, bits.Len64(uint64(high) - uint64(low))
}

// bits appends n numbers of width bits. The first number takes the lowest bits of the first
// byte.
func (e *encoder) bits(n, width int, of func(int) uint64) {
	acc, have := uint64(0), 0
	for i := range n {
		v := of(i)
		acc |= v << have
		if have+width >= 64 {
			e.dst = binary.LittleEndian.AppendUint64(e.dst, acc)
			acc = v >> (64 - have) // 0 if have is 0
			have += width - 64
		} else {
			have += width
		}
	}
	for ; have > 0; have -= 8 {
		e.dst = append(e.dst, byte(acc))
		acc >>= 8
	}
}

// floats appends a column of floats. It stores each float XOR the previous one, without the
// leading and trailing bits that are 0 in all of them.
func (e *encoder) floats(v []float64) {
	if len(v) == 0 {
		return
	}
	xor := func(i int) uint64 { return math.Float64bits(v[i+1]) ^ math.Float64bits(v[i]) }
	all := uint64(0)
	for i := range len(v) - 1 {
		all |= xor(i)
	}
	low := bits.TrailingZeros64(all) & 63
	width := bits.Len64(all >> low)
	e.dst = append(e.dst, byte(low), byte(width))
	e.dst = binary.LittleEndian.AppendUint64(e.dst, math.Float64bits(v[0]))
	e.bits(len(v)-1, width, func(i int) uint64 { return xor(i) >> low })
}

// decoder reads columns. After the first error bad is set and all methods return zero values.
type decoder struct {
	src     []byte
	bad     bool
	numbers []uint64
	tail    [24]byte // the end of a column, padded with zeros
}

func (d *decoder) next(n int) []byte {
	if d.bad || n < 0 || n > len(d.src) {
		d.bad = true
		return nil
	}
	b := d.src[:n]
	d.src = d.src[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.next(1); len(b) > 0 {
		return b[0]
	}
	return 0
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.src)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.next(n)
	return v
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.src)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.next(n)
	return v
}

// ints reads n integers. The caller limits n to the number of bins or states in a tile.
func (d *decoder) ints(n int) []int64 {
	if n == 0 || d.bad {
		return nil
	}
	v := make([]int64, n)
	head := d.byte()
	width := int(head &^ differences)
	if head&differences == 0 {
		low := d.varint()
		for i, b := range d.bits(n, width) {
			v[i] = low + int64(b)
		}
		return v
	}
	v[0] = d.varint()
	low := d.varint()
	for i, b := range d.bits(n-1, width) {
		v[i+1] = v[i] + low + int64(b)
	}
	return v
}

// bits reads n numbers of width bits. The result is valid until the next call.
func (d *decoder) bits(n, width int) []uint64 {
	if width > 64 {
		d.bad = true
		return nil
	}
	src := d.next((n*width + 7) / 8)
	if d.bad {
		return nil
	}
	d.numbers = d.numbers[:0]
	mask := uint64(1)<<width - 1 // all bits if width is 64
	for i := range n {
		at := i * width
		from := src[at/8:]
		if len(from) < 9 {
			from = append(append(d.tail[:0], from...), make([]byte, 9)...)
		}
		v := binary.LittleEndian.Uint64(from)>>(at%8) | uint64(from[8])<<(64-at%8)
		d.numbers = append(d.numbers, v&mask)
	}
	return d.numbers
}

// floats reads n floats.
func (d *decoder) floats(n int) []float64 {
	if n == 0 || d.bad {
		return nil
	}
	low, width := int(d.byte()), int(d.byte())
	first := d.next(8)
	if d.bad || low+width > 64 {
		d.bad = true
		return nil
	}
	v := make([]float64, n)
	word := binary.LittleEndian.Uint64(first)
	v[0] = math.Float64frombits(word)
	for i, b := range d.bits(n-1, width) {
		word ^= b << low
		v[i+1] = math.Float64frombits(word)
	}
	return v
}
