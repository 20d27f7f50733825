package block

import (
	"slices"
	"sync"

	"github.com/klauspost/compress/huff0"

	"varve.dev/varve/engine/sample"
)

// scratch holds buffers for encoding and decoding columns, which are reused for later blocks.
type scratch struct {
	// ints is the current column. It is at least as long as the block.
	ints []int64
	// columns holds nested columns, for example the lengths of runs.
	columns []int64
	at      []int64 // indexes of exceptions, lengths of dictionary entries
	frames  []frame
	bins    []byte // bin numbers
	words   []uint64
	seen    []uint64 // a hash table of words
	// Byte buffers: byte planes, words as bytes, a sample of the data and its trial
	// compression, dictionary entries, a blob.
	plane, raw, piece, trial, entries, blob []byte

	probe    probe
	dict     dict
	distinct distinct
	huffman  *huff0.Scratch
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// takeScratch returns a scratch with room for columns of n values.
func takeScratch(n int) *scratch {
	s := scratches.Get().(*scratch)
	s.resize(n)
	return s
}

// keep is the maximum size, in bytes, of a buffer that a scratch keeps.
const keep = 1 << 20

// release returns the scratch to the pool without the buffers that large values have grown.
func (s *scratch) release(t sample.Type) {
	if !t.Fixed() {
		for _, b := range []*[]byte{&s.plane, &s.raw, &s.entries, &s.blob} {
			if cap(*b) > keep {
				*b = nil
			}
		}
	}
	scratches.Put(s)
}

// resize makes room in ints for columns of n values.
func (s *scratch) resize(n int) {
	if len(s.ints) < n {
		s.ints = make([]int64, n)
	}
}

// sub returns a buffer for n integers of a nested column, while ints holds the column itself.
func (s *scratch) sub(n int) []int64 {
	s.columns = slices.Grow(s.columns[:0], n)
	return s.columns[:n]
}

// places returns a buffer for n integers that stays valid while other columns are decoded.
func (s *scratch) places(n int) []int64 {
	s.at = slices.Grow(s.at[:0], n)
	return s.at[:n]
}

// grow makes room for n bin numbers.
func (s *scratch) grow(n int) {
	s.bins = slices.Grow(s.bins[:0], n)
}

// coder returns the Huffman coder for bins.
func (s *scratch) coder() *huff0.Scratch {
	if s.huffman == nil {
		s.huffman = &huff0.Scratch{Reuse: huff0.ReusePolicyNone}
	}
	return s.huffman
}

// chunk returns a buffer for the words of a chunk.
func (s *scratch) chunk() []uint64 {
	if s.words == nil {
		s.words = make([]uint64, chunk)
	}
	return s.words
}
