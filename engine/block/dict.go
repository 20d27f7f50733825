package block

import (
	"encoding/binary"
	"math/bits"
)

// maxDict is the maximum number of entries in a dictionary.
const maxDict = 256

// dict numbers distinct values in the order of their first appearance. It is a hash table with
// open addressing: a slot holds the number of a value plus 1, or 0 if it is empty.
type dict struct {
	slots [4 * maxDict]uint16
	vals  [maxDict]int64
	n     int
}

func (d *dict) reset() {
	clear(d.slots[:])
	d.n = 0
}

// number returns the number of a value and adds the value if it is new. It returns -1 if the
// dictionary is full.
func (d *dict) number(v int64) int {
	const golden = 0x9e3779b97f4a7c15
	at := uint64(v) * golden >> (64 - 10)
	for {
		k := int(d.slots[at])
		if k == 0 {
			break
		}
		if d.vals[k-1] == v {
			return k - 1
		}
		at = (at + 1) % uint64(len(d.slots))
	}
	if d.n == maxDict {
		return -1
	}
	d.vals[d.n] = v
	d.n++
	d.slots[at] = uint16(d.n)
	return d.n - 1
}

// few is the average number of values per entry from which a dictionary is tried.
const few = 8

// tryDict appends a column as the distinct values and their numbers. It does so only if there
// are few distinct values and the result is clearly smaller than the estimate of m. The values
// are already divided by the factor of m. tryDict does not change vals.
func tryDict(dst []byte, vals []int64, m *model, s *scratch) ([]byte, bool) {
	d, at, most := &s.dict, len(dst), int(m.bits)*len(vals)/9
	entries := min(maxDict, len(vals)/few, 1<<(int(m.bits)/2)) // with more entries a number would need more than half the bits
	d.reset()
	numbers := s.sub(len(vals))
	for i, v := range vals {
		k := d.number(v)
		if k < 0 || d.n > entries {
			return dst, false
		}
		numbers[i] = int64(k)
	}
	if d.n+len(vals)*bits.Len(uint(d.n-1))/8 > most {
		return dst, false
	}
	for i, v := range d.vals[:d.n] {
		d.vals[i] = m.origin + v*m.factor
	}
	dst = binary.AppendUvarint(append(dst, dictOfInt), uint64(d.n))
	dst = appendPacked(dst, d.vals[:d.n], s, false)
	dst = appendPacked(dst, numbers, s, false)
	if len(dst)-at > most {
		return dst[:at], false
	}
	return dst, true
}

func decodeDict(vals []int64, src []byte, s *scratch) ([]byte, error) {
	n, src, err := readUvarint(src, maxDict)
	if err != nil || n == 0 {
		return nil, ErrCorrupt
	}
	entries := s.dict.vals[:n]
	if src, err = decodePacked(entries, src, s); err != nil {
		return nil, err
	}
	if src, err = decodePacked(vals, src, s); err != nil {
		return nil, err
	}
	for i, k := range vals {
		if uint64(k) >= n {
			return nil, ErrCorrupt
		}
		vals[i] = entries[k]
	}
	return src, nil
}
