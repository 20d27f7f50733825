package block

import (
	"slices"
	"sync"

	"github.com/klauspost/compress/huff0"

	"varve.dev/varve/engine/sample"
)

// scratch is the memory in which columns are made, kept from one block to the next.
type scratch struct {
	// ints is the current column. It is at least as long as the block.
	ints []int64
	// columns is of what a column is made of: the lengths of runs, say.
	columns []int64
	at      []int64 // places of exceptions, lengths of entries
	frames  []frame
	bins    []byte // numbers of bins
	words   []uint64
	seen    []uint64 // a hash table of words
	// Bytes: planes, words put together, a sample and what it gives, entries of a
	// dictionary, a blob.
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

// keep is the most memory, in bytes, of one kind that a scratch keeps.
const keep = 1 << 20

// release gives the scratch back, without the memory of large values.
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

// resize makes room for columns of n values.
func (s *scratch) resize(n int) {
	if len(s.ints) < n {
		s.ints = make([]int64, n)
	}
}

// sub returns room for n integers, which the column may hold that ints does not.
func (s *scratch) sub(n int) []int64 {
	s.columns = slices.Grow(s.columns[:0], n)
	return s.columns[:n]
}

// places returns room for n integers that outlives a column.
func (s *scratch) places(n int) []int64 {
	s.at = slices.Grow(s.at[:0], n)
	return s.at[:n]
}

// grow makes room for the numbers of n bins.
func (s *scratch) grow(n int) {
	s.bins = slices.Grow(s.bins[:0], n)
}

// coder returns the coder of bins.
func (s *scratch) coder() *huff0.Scratch {
	if s.huffman == nil {
		s.huffman = &huff0.Scratch{Reuse: huff0.ReusePolicyNone}
	}
	return s.huffman
}

// chunk returns room for the words of a chunk.
func (s *scratch) chunk() []uint64 {
	if s.words == nil {
		s.words = make([]uint64, chunk)
	}
	return s.words
}
