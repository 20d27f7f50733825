package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"varve.dev/varve/engine/checksum"
	"varve.dev/varve/engine/sample"
)

// Versions of a blob: its first byte.
const (
	// firstVersion had fewer column forms. Those forms kept their numbers, so blobs of this
	// version decode like blobs of today.
	firstVersion = 1
	// Version is what Append writes.
	Version = 2
	// StoredVersion is what AppendStored writes: Version with a checksum at its end.
	StoredVersion = 3
)

// MaxSamples is the maximum number of samples in a blob.
const MaxSamples = 1 << 16

// MaxBytes is the maximum size of the decoded values of one blob.
const MaxBytes = 64 << 20

// ErrCorrupt is returned for bytes that Append did not write.
var ErrCorrupt = errors.New("damaged block")

// ErrVersion is wrapped by the error of a blob that a later version of the program wrote.
var ErrVersion = errors.New("not known to this program")

// AppendStored appends the encoding of a run with a checksum, for a block in a store. The run
// must satisfy the conditions of Append.
func AppendStored(dst []byte, r *sample.Run) []byte { return appendAs(dst, r, StoredVersion) }

// Append appends the encoding of a run and keeps the order of its samples. The run must hold 1
// to MaxSamples samples of a valid type.
func Append(dst []byte, r *sample.Run) []byte { return appendAs(dst, r, Version) }

func appendAs(dst []byte, r *sample.Run, version byte) []byte {
	n := r.Len()
	if n == 0 || n > MaxSamples || !r.Type.Valid() {
		panic(fmt.Sprintf("BUG: encoding a block of %d samples of %v", n, r.Type))
	}
	s := takeScratch(n)
	if cap(dst) == 0 { // allocate exactly the size of the blob
		s.blob = appendRun(s.blob[:0], r, version, s)
		dst = slices.Clone(s.blob)
	} else {
		dst = appendRun(dst, r, version, s)
	}
	s.release(r.Type)
	return dst
}

func appendRun(dst []byte, r *sample.Run, version byte, s *scratch) []byte {
	from := len(dst)
	dst = append(dst, version, byte(r.Type))
	dst = binary.AppendUvarint(dst, uint64(r.Len()))
	dst = appendTimes(dst, r.Times, s)
	dst = appendTags(dst, r.Tags, s)
	if r.Type.Fixed() {
		dst = appendWords(dst, r.Type, r.Words, s)
	} else {
		dst = appendBytes(dst, r, s)
	}
	if version == StoredVersion {
		dst = checksum.Append(dst, from)
	}
	return dst
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
	switch src[0] {
	case firstVersion, Version:
	case StoredVersion:
		var err error
		if src, err = checksum.Strip(src); err != nil {
			return 0, 0, nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		if len(src) < 3 {
			return 0, 0, nil, ErrCorrupt
		}
	default:
		return 0, 0, nil, fmt.Errorf("block format version %d is %w", src[0], ErrVersion)
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
