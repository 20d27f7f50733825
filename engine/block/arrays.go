package block

import (
	"encoding/binary"
	"slices"

	"varve.dev/varve/engine/sample"
)

// toPlanes groups the bytes of elements of the given size by their position in the element.
// fromPlanes undoes it.
func toPlanes(dst, src []byte, size int) {
	n := len(src) / size
	for p := range size {
		plane := dst[p*n : (p+1)*n]
		for i := range plane {
			plane[i] = src[i*size+p]
		}
	}
}

func fromPlanes(dst, src []byte, size int) {
	n := len(src) / size
	for p := range size {
		for i, b := range src[p*n : (p+1)*n] {
			dst[i*size+p] = b
		}
	}
}

// chunk is the number of array elements that make up a column.
const chunk = 4096

// appendColumns appends elements of a fixed size as columns of values.
func appendColumns(dst, b []byte, elem sample.Type, s *scratch) []byte {
	size := elem.Array().ElemSize()
	s.resize(chunk)
	words := s.chunk()
	for len(b) > 0 {
		n := min(chunk, len(b)/size)
		for i := range n {
			words[i] = sample.Word(elem.Array(), b, i)
		}
		dst = appendWords(dst, elem, words[:n], s)
		b = b[n*size:]
	}
	return dst
}

func decodeColumnsOf(b, src []byte, t sample.Type, s *scratch) (err error) {
	size := t.ElemSize()
	if !t.IsArray() || size == 0 || len(b)%size != 0 {
		return ErrCorrupt
	}
	s.resize(chunk)
	words := s.chunk()
	for len(b) > 0 {
		n := min(chunk, len(b)/size)
		if src, err = decodeWords(words[:n], src, t.Elem(), s); err != nil {
			return err
		}
		putWords(b, words[:n], size)
		b = b[n*size:]
	}
	if len(src) > 0 {
		return ErrCorrupt
	}
	return nil
}

// putWords stores words as elements of the given size.
func putWords(b []byte, words []uint64, size int) {
	switch size {
	case 1:
		for i, w := range words {
			b[i] = byte(w)
		}
	case 2:
		for i, w := range words {
			binary.LittleEndian.PutUint16(b[2*i:], uint16(w))
		}
	case 4:
		for i, w := range words {
			binary.LittleEndian.PutUint32(b[4*i:], uint32(w))
		}
	case 8:
		for i, w := range words {
			binary.LittleEndian.PutUint64(b[8*i:], w)
		}
	}
}

// appendPlanes appends a column of words as compressed planes of bytes. This form finds
// sequences of values that repeat. A length precedes the compressed bytes.
func appendPlanes(dst []byte, t sample.Type, words []uint64, s *scratch) []byte {
	size := t.Array().ElemSize()
	s.raw = slices.Grow(s.raw[:0], len(words)*size)[:len(words)*size]
	putWords(s.raw, words, size)
	s.plane = slices.Grow(s.plane[:0], len(s.raw))[:len(s.raw)]
	toPlanes(s.plane, s.raw, size)
	s.raw = zstdEncoder.EncodeAll(s.plane, s.raw[:0])
	dst = binary.AppendUvarint(append(dst, planes), uint64(len(s.raw)))
	return append(dst, s.raw...)
}

func decodePlanes(words []uint64, src []byte, t sample.Type, s *scratch) ([]byte, error) {
	n, src, err := readCount(src, len(src))
	if err != nil || n > len(src) {
		return nil, ErrCorrupt
	}
	size := t.Array().ElemSize()
	total := len(words) * size
	s.plane = slices.Grow(s.plane[:0], total)[:total]
	if err := unzstd(s.plane, src[:n]); err != nil {
		return nil, err
	}
	s.raw = slices.Grow(s.raw[:0], total)[:total]
	fromPlanes(s.raw, s.plane, size)
	for i := range words {
		words[i] = sample.Word(t.Array(), s.raw, i)
	}
	return src[n:], nil
}
