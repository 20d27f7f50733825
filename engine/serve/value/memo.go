package value

import (
	"math"

	"varve.dev/varve/engine/sample"
)

const (
	// memoBits is the binary logarithm of the number of texts in a Memo, which takes 40 KiB.
	memoBits = 10
	// maxText is the number of bytes of the longest text of a float, such as -2.2250738585072014e-308.
	maxText = 24
)

// Memo appends values like its Format, and remembers the texts of the latest float64 values. Most PVs
// have few different ones: readings of a converter, setpoints, counts. For such PVs a Memo needs a fraction of
// the time. Values that never repeat take somewhat longer. It is not safe for concurrent use.
type Memo struct {
	format *Format
	texts  [1 << memoBits]memoText
}

// memoText is the text of a float64.
type memoText struct {
	bits uint64
	text [maxText]byte
	n    uint8 // length of the text, 0 for none
}

// NewMemo returns a Memo without texts.
func NewMemo(f *Format) *Memo { return &Memo{format: f} }

// Append appends the value of sample i, like Format.Append.
func (m *Memo) Append(dst []byte, r *sample.Run, i int) []byte {
	if r.Type == sample.Float64 {
		return m.bits(dst, r.Words[i])
	}
	return m.format.Append(dst, r, i)
}

// Float appends a float64, like Format.Float.
func (m *Memo) Float(dst []byte, v float64) []byte { return m.bits(dst, math.Float64bits(v)) }

// bits appends the float64 with these bits. The top bits of the product depend on all of them.
func (m *Memo) bits(dst []byte, bits uint64) []byte {
	const golden = 0x9e3779b97f4a7c15 // 2⁶⁴ divided by the golden ratio
	t := &m.texts[bits*golden>>(64-memoBits)]
	if t.n > 0 && t.bits == bits {
		return append(dst, t.text[:t.n]...)
	}
	from := len(dst)
	dst = m.format.Float(dst, math.Float64frombits(bits), 64)
	if text := dst[from:]; len(text) <= maxText {
		t.bits, t.n = bits, uint8(copy(t.text[:], text))
	}
	return dst
}
