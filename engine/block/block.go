package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"varve.dev/varve/engine/sample"
)

// Version is the first byte of every blob.
const Version = 1

// MaxSamples is the most samples that a blob may hold.
const MaxSamples = 1 << 16

// MaxBytes is the most bytes that the values of one blob may take, decoded.
const MaxBytes = 64 << 20

// ErrCorrupt is returned for bytes that no Append has written.
var ErrCorrupt = errors.New("corrupt block")

// scratch holds a column on its way between its integers and its bits.
type scratch struct {
	ints []int64
	bits []uint64
}

func (s *scratch) resize(n int) {
	if cap(s.ints) < n {
		s.ints, s.bits = make([]int64, n), make([]uint64, n)
	}
	s.ints, s.bits = s.ints[:n], s.bits[:n]
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Append appends the encoding of a run, which must hold 1 to MaxSamples samples
// of a valid type. It keeps their order.
func Append(dst []byte, r *sample.Run) []byte {
	n := r.Len()
	if n == 0 || n > MaxSamples || !r.Type.Valid() {
		panic(fmt.Sprintf("BUG: encoding a block of %d samples of %v", n, r.Type))
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.resize(n)

	dst = append(dst, Version, byte(r.Type))
	dst = binary.AppendUvarint(dst, uint64(n))
	dst = appendTimes(dst, r.Times, s)
	dst = appendTags(dst, r.Tags)
	if r.Type.Fixed() {
		return appendWords(dst, r.Type, r.Words, s)
	}
	return appendBytes(dst, r, s)
}

// Decode appends the samples of a blob to r, which must be empty or of the
// blob's type. On an error r is as it was before. It allocates only to grow r.
func Decode(r *sample.Run, src []byte) error {
	typ, n, rest, err := header(src)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		r.Reset(typ)
	}
	if r.Type != typ {
		return fmt.Errorf("decoding a block of %v into a run of %v", typ, r.Type)
	}
	old := *r
	if err := decodeColumns(r, rest, n); err != nil {
		*r = old
		return fmt.Errorf("decoding a block of %d samples of %v: %w", n, typ, err)
	}
	return nil
}

// Peek returns the type and the number of samples of a blob.
func Peek(src []byte) (sample.Type, int, error) {
	typ, n, _, err := header(src)
	return typ, n, err
}

func header(src []byte) (sample.Type, int, []byte, error) {
	if len(src) < 3 {
		return 0, 0, nil, ErrCorrupt
	}
	if src[0] != Version {
		return 0, 0, nil, fmt.Errorf("block format version %d is not known to this program", src[0])
	}
	typ := sample.Type(src[1])
	n, w := binary.Uvarint(src[2:])
	if !typ.Valid() || w <= 0 || n == 0 || n > MaxSamples {
		return 0, 0, nil, ErrCorrupt
	}
	return typ, int(n), src[2+w:], nil
}

func decodeColumns(r *sample.Run, src []byte, n int) (err error) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.resize(n)
	if r.Times, src, err = decodeTimes(r.Times, src, s); err != nil {
		return err
	}
	if r.Tags, src, err = decodeTags(r.Tags, src, n); err != nil {
		return err
	}
	if !r.Type.Fixed() {
		return decodeBytes(r, src, s)
	}
	r.Words, src, err = decodeWords(r.Words, src, r.Type, s)
	if err == nil && len(src) > 0 {
		return ErrCorrupt
	}
	return err
}
