package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"varve.dev/varve/engine/sample"
)

// Version is the first byte of every blob that Append writes.
const Version = 2

// firstVersion had fewer column forms. Those forms kept their numbers, so blobs of this
// version decode like blobs of today.
const firstVersion = 1

// MaxSamples is the maximum number of samples in a blob.
const MaxSamples = 1 << 16

// MaxBytes is the maximum size of the decoded values of one blob.
const MaxBytes = 64 << 20

// ErrCorrupt is returned for bytes that Append did not write.
var ErrCorrupt = errors.New("corrupt block")

// Append appends the encoding of a run and keeps the order of its samples. The run must hold 1
// to MaxSamples samples of a valid type.
func Append(dst []byte, r *sample.Run) []byte {
	n := r.Len()
	if n == 0 || n > MaxSamples || !r.Type.Valid() {
		panic(fmt.Sprintf("BUG: encoding a block of %d samples of %v", n, r.Type))
	}
	s := takeScratch(n)
	if cap(dst) == 0 { // allocate exactly the size of the blob
		s.blob = appendRun(s.blob[:0], r, s)
		dst = slices.Clone(s.blob)
	} else {
		dst = appendRun(dst, r, s)
	}
	s.release(r.Type)
	return dst
}

func appendRun(dst []byte, r *sample.Run, s *scratch) []byte {
	dst = append(dst, Version, byte(r.Type))
	dst = binary.AppendUvarint(dst, uint64(r.Len()))
	dst = appendTimes(dst, r.Times, s)
	dst = appendTags(dst, r.Tags, s)
	if r.Type.Fixed() {
		return appendWords(dst, r.Type, r.Words, s)
	}
	return appendBytes(dst, r, s)
}

// Decode appends the samples of a blob to r, which must be empty or have the blob's type. On
// an error r is unchanged. Decode allocates only to grow r.
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
	old, s := *r, takeScratch(n)
	err = decodeRun(r, rest, n, s)
	s.release(typ)
	if err != nil {
		*r = old
		return fmt.Errorf("decoding a block of %d samples of %v: %w", n, typ, err)
	}
	return nil
}

// Peek returns the type and the number of samples in a blob.
func Peek(src []byte) (sample.Type, int, error) {
	typ, n, _, err := header(src)
	return typ, n, err
}

func header(src []byte) (sample.Type, int, []byte, error) {
	if len(src) < 3 {
		return 0, 0, nil, ErrCorrupt
	}
	if src[0] != Version && src[0] != firstVersion {
		return 0, 0, nil, fmt.Errorf("block format version %d is not known to this program", src[0])
	}
	typ := sample.Type(src[1])
	n, w := binary.Uvarint(src[2:])
	if !typ.Valid() || w <= 0 || n == 0 || n > MaxSamples {
		return 0, 0, nil, ErrCorrupt
	}
	return typ, int(n), src[2+w:], nil
}

func decodeRun(r *sample.Run, src []byte, n int, s *scratch) (err error) {
	at := len(r.Times)
	r.Times = slices.Grow(r.Times, n)[:at+n]
	if src, err = decodeTimes(r.Times[at:], src, s); err != nil {
		return err
	}
	at = len(r.Tags)
	r.Tags = slices.Grow(r.Tags, n)[:at+n]
	if src, err = decodeTags(r.Tags[at:], src, s); err != nil {
		return err
	}
	if !r.Type.Fixed() {
		return decodeBytes(r, src, s, n)
	}
	at = len(r.Words)
	r.Words = slices.Grow(r.Words, n)[:at+n]
	src, err = decodeWords(r.Words[at:], src, r.Type, s)
	if err == nil && len(src) > 0 {
		return ErrCorrupt
	}
	return err
}
