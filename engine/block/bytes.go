package block

import (
	"encoding/binary"
	"hash/maphash"
	"slices"

	"varve.dev/varve/engine/sample"
)

// dictOfBytes is the first byte of a dictionary-encoded column. It stands where the lengths of
// the values would begin.
const dictOfBytes = 0x7f

// appendBytes writes the lengths of the values, then their bytes. It writes repeated values
// only once, if there are few distinct ones.
func appendBytes(dst []byte, r *sample.Run, s *scratch) []byte {
	if r.Len() >= 4 && s.distinct.find(r) {
		return appendDistinct(dst, r, s)
	}
	start := uint32(0)
	for i, end := range r.Ends {
		s.ints[i] = int64(end - start)
		start = end
	}
	dst = appendInts(dst, s.ints[:r.Len()], s)
	return appendCompressed(dst, r.Bytes, r.Type, s)
}

// distinct holds the distinct values of a run.
type distinct struct {
	seed    maphash.Seed
	slots   []uint16       // a hash table: the entry's number plus 1, or 0 for an empty slot
	entries [maxDict]int32 // encoding: the first sample with the value; decoding: the end of the entry's bytes
	hashes  [maxDict]uint64
	n       int
	numbers []int64 // the entry of each sample
}

// fewValues is the largest run that is searched without a hash table: each value is compared
// with all entries.
const fewValues = 16

// find numbers the distinct values of a run. It returns false if there are more of them than
// half the number of samples, or more than a dictionary holds.
func (d *distinct) find(r *sample.Run) bool {
	d.n, d.numbers = 0, d.numbers[:0]
	look, most := d.lookHash, min(maxDict, r.Len()/2)
	if r.Len() <= fewValues {
		look = d.lookAll
	} else if len(d.slots) == 0 {
		d.seed, d.slots = maphash.MakeSeed(), make([]uint16, 4*maxDict)
	} else {
		clear(d.slots)
	}
	for i := range r.Len() {
		k := look(r, i, most)
		if k < 0 {
			return false
		}
		d.numbers = append(d.numbers, int64(k))
	}
	return true
}

// lookAll returns the entry of value i. A new value gets a new entry if there are fewer than
// most. Otherwise lookAll returns -1.
func (d *distinct) lookAll(r *sample.Run, i, most int) int {
	v := r.Value(i)
	for k, at := range d.entries[:d.n] {
		if string(r.Value(int(at))) == string(v) {
			return k
		}
	}
	return d.add(i, most)
}

// lookHash is lookAll with the hash table.
func (d *distinct) lookHash(r *sample.Run, i, most int) int {
	v := r.Value(i)
	h := maphash.Bytes(d.seed, v)
	at := h % uint64(len(d.slots))
	for ; d.slots[at] != 0; at = (at + 1) % uint64(len(d.slots)) {
		k := int(d.slots[at]) - 1
		if d.hashes[k] == h && string(r.Value(int(d.entries[k]))) == string(v) {
			return k
		}
	}
	k := d.add(i, most)
	if k >= 0 {
		d.hashes[k], d.slots[at] = h, uint16(k+1)
	}
	return k
}

func (d *distinct) add(i, most int) int {
	if d.n == most {
		return -1
	}
	d.entries[d.n] = int32(i)
	d.n++
	return d.n - 1
}

// appendDistinct writes the entry number of each value, then the entries.
func appendDistinct(dst []byte, r *sample.Run, s *scratch) []byte {
	d := &s.distinct
	dst = binary.AppendUvarint(append(dst, dictOfBytes), uint64(d.n))
	dst = appendInts(dst, d.numbers, s)
	s.entries = s.entries[:0]
	for i, at := range d.entries[:d.n] {
		v := r.Value(int(at))
		s.entries = append(s.entries, v...)
		s.ints[i] = int64(len(v))
	}
	dst = appendPacked(dst, s.ints[:d.n], s, false)
	return appendCompressed(dst, s.entries, r.Type, s)
}

// decodeBytes reads the last column, which takes the rest of the blob.
func decodeBytes(r *sample.Run, src []byte, s *scratch, n int) (err error) {
	if len(src) > 0 && src[0] == dictOfBytes {
		return decodeDistinct(r, src[1:], s, n)
	}
	lengths := s.ints[:n]
	if src, err = decodeInts(lengths, src, s); err != nil {
		return err
	}
	total, base := 0, len(r.Bytes)
	for _, n := range lengths {
		if total, err = addLength(total, n); err != nil {
			return err
		}
		r.Ends = append(r.Ends, uint32(base+total))
	}
	if err := checkSize(src, total); err != nil {
		return err
	}
	r.Bytes = slices.Grow(r.Bytes, total)[:base+total]
	return decompress(r.Bytes[base:], src, r.Type, s)
}

// addLength adds the length of a value to a total and checks the limit.
func addLength(total int, n int64) (int, error) {
	if n < 0 || n > MaxBytes || total+int(n) > MaxBytes {
		return 0, ErrCorrupt
	}
	return total + int(n), nil
}

func decodeDistinct(r *sample.Run, src []byte, s *scratch, n int) error {
	entries, src, err := readCount(src, min(n, maxDict))
	if err != nil {
		return err
	}
	if src, err = decodeInts(s.ints[:n], src, s); err != nil {
		return err
	}
	lengths := s.places(entries)
	if src, err = decodePacked(lengths, src, s); err != nil {
		return err
	}
	size, total := 0, 0
	ends := s.distinct.entries[:entries]
	for i, length := range lengths {
		if size, err = addLength(size, length); err != nil {
			return err
		}
		ends[i] = int32(size)
	}
	s.distinct.numbers = append(s.distinct.numbers[:0], s.ints[:n]...)
	numbers := s.distinct.numbers
	for _, k := range numbers {
		if uint64(k) >= uint64(entries) {
			return ErrCorrupt
		}
		if total, err = addLength(total, lengths[k]); err != nil {
			return err
		}
	}
	if err := checkSize(src, size); err != nil {
		return err
	}
	s.entries = slices.Grow(s.entries[:0], size)[:size]
	if err := decompress(s.entries, src, r.Type, s); err != nil {
		return err
	}
	r.Bytes = slices.Grow(r.Bytes, total)
	for _, k := range numbers {
		from := int32(0)
		if k > 0 {
			from = ends[k-1]
		}
		r.Bytes = append(r.Bytes, s.entries[from:ends[k]]...)
		r.Ends = append(r.Ends, uint32(len(r.Bytes)))
	}
	return nil
}
