package block

import (
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/s2"

	"varve.dev/varve/engine/sample"
)

// units are the resolutions, in ns, in which times are kept: the coarsest that
// loses nothing.
var units = [...]int64{1e9, 1e6, 1e3, 1}

// appendTimes writes the index of the unit and the times in that unit.
func appendTimes(dst []byte, times []int64, s *scratch) []byte {
	u := 0
	for _, t := range times {
		for t%units[u] != 0 {
			u++
		}
	}
	ints := s.ints[:len(times)]
	if units[u] == 1 {
		copy(ints, times)
	} else {
		for i, t := range times {
			ints[i] = t / units[u]
		}
	}
	return appendInts(append(dst, byte(u)), ints, s)
}

func decodeTimes(times []int64, src []byte, s *scratch) ([]int64, []byte, error) {
	if len(src) == 0 || int(src[0]) >= len(units) {
		return times, nil, ErrCorrupt
	}
	unit, n := units[src[0]], len(times)
	times = append(times, s.ints...)
	src, err := decodeInts(times[n:], src[1:], s)
	if err != nil {
		return times[:n], nil, err
	}
	if unit != 1 {
		for i := n; i < len(times); i++ {
			times[i] *= unit
		}
	}
	return times, src, nil
}

// appendTags writes runs of equal tags: the tag, and how often it stands.
func appendTags(dst []byte, tags []sample.Tag) []byte {
	for i := 0; i < len(tags); {
		j := i + 1
		for j < len(tags) && tags[j] == tags[i] {
			j++
		}
		dst = binary.AppendUvarint(dst, uint64(tags[i]))
		dst = binary.AppendUvarint(dst, uint64(j-i))
		i = j
	}
	return dst
}

func decodeTags(tags []sample.Tag, src []byte, n int) ([]sample.Tag, []byte, error) {
	for n > 0 {
		tag, w := binary.Uvarint(src)
		if w <= 0 || tag > 1<<32-1 {
			return tags, nil, ErrCorrupt
		}
		count, w2 := binary.Uvarint(src[w:])
		if w2 <= 0 || count == 0 || count > uint64(n) {
			return tags, nil, ErrCorrupt
		}
		for range count {
			tags = append(tags, sample.Tag(tag))
		}
		n -= int(count)
		src = src[w+w2:]
	}
	return tags, src, nil
}

// Compressions of a byte column.
const (
	plainBytes = 0
	s2Bytes    = 1
	// minCompress is the size below which compression is not tried.
	minCompress = 128
)

// appendBytes writes the lengths of the values, then their bytes.
func appendBytes(dst []byte, r *sample.Run, s *scratch) []byte {
	start := uint32(0)
	for i, end := range r.Ends {
		s.ints[i] = int64(end - start)
		start = end
	}
	dst = appendInts(dst, s.ints, s)
	if len(r.Bytes) >= minCompress {
		at := len(dst)
		dst = append(dst, s2Bytes)
		dst = slices.Grow(dst, s2.MaxEncodedLen(len(r.Bytes)))
		enc := s2.Encode(dst[len(dst):cap(dst)], r.Bytes)
		if len(enc) < len(r.Bytes)*15/16 {
			return dst[:len(dst)+len(enc)]
		}
		dst = dst[:at]
	}
	return append(append(dst, plainBytes), r.Bytes...)
}

// decodeBytes reads the last column, which takes all that is left.
func decodeBytes(r *sample.Run, src []byte, s *scratch) error {
	src, err := decodeInts(s.ints, src, s)
	if err != nil || len(src) == 0 {
		return ErrCorrupt
	}
	base := len(r.Bytes)
	total := 0
	for _, n := range s.ints {
		if n < 0 || n > MaxBytes || total+int(n) > MaxBytes {
			return ErrCorrupt
		}
		total += int(n)
		r.Ends = append(r.Ends, uint32(base+total))
	}
	switch src[0] {
	case plainBytes:
		if len(src)-1 != total {
			return ErrCorrupt
		}
		r.Bytes = append(r.Bytes, src[1:]...)
	case s2Bytes:
		if n, err := s2.DecodedLen(src[1:]); err != nil || n != total {
			return ErrCorrupt
		}
		r.Bytes = slices.Grow(r.Bytes, total)
		if _, err := s2.Decode(r.Bytes[base:base+total], src[1:]); err != nil {
			return ErrCorrupt
		}
		r.Bytes = r.Bytes[:base+total]
	default:
		return ErrCorrupt
	}
	return nil
}
