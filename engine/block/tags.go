package block

import (
	"encoding/binary"

	"varve.dev/varve/engine/sample"
)

// manyTagRuns is the number of runs of equal tags above which a column of integers is tried.
const manyTagRuns = 16

// tagColumn precedes a column of integers. It looks like a run of zero samples, which
// appendTags never writes otherwise.
var tagColumn = []byte{0, 0}

// appendTags writes runs of equal tags: the tag and the length of the run. If an alarm often
// changes, it writes a column of integers when that is smaller.
func appendTags(dst []byte, tags []sample.Tag, s *scratch) []byte {
	at, n := len(dst), 0
	for i := 0; i < len(tags); n++ {
		j := i + 1
		for j < len(tags) && tags[j] == tags[i] {
			j++
		}
		dst = binary.AppendUvarint(dst, uint64(tags[i]))
		dst = binary.AppendUvarint(dst, uint64(j-i))
		i = j
	}
	if n <= manyTagRuns {
		return dst
	}
	for i, t := range tags {
		s.ints[i] = int64(t)
	}
	end := len(dst)
	dst = appendInts(append(dst, tagColumn...), s.ints[:len(tags)], s)
	if len(dst)-end < end-at {
		return append(dst[:at], dst[end:]...)
	}
	return dst[:end]
}

// decodeTags fills tags.
func decodeTags(tags []sample.Tag, src []byte, s *scratch) ([]byte, error) {
	if len(src) >= 2 && src[0] == tagColumn[0] && src[1] == tagColumn[1] {
		return decodeTagColumn(tags, src[2:], s)
	}
	for len(tags) > 0 {
		tag, w := binary.Uvarint(src)
		if w <= 0 || tag > 1<<32-1 {
			return nil, ErrCorrupt
		}
		n, rest, err := readCount(src[w:], len(tags))
		if err != nil {
			return nil, err
		}
		for i := range tags[:n] {
			tags[i] = sample.Tag(tag)
		}
		tags, src = tags[n:], rest
	}
	return src, nil
}

func decodeTagColumn(tags []sample.Tag, src []byte, s *scratch) ([]byte, error) {
	ints := s.ints[:len(tags)]
	src, err := decodeInts(ints, src, s)
	if err != nil {
		return nil, err
	}
	for i, v := range ints {
		if uint64(v) > 1<<32-1 {
			return nil, ErrCorrupt
		}
		tags[i] = sample.Tag(v)
	}
	return src, nil
}
