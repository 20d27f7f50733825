package proto

import "math/bits"

// BitSet is a set of fields of a structure. The fields are numbered depth first. Number 0 is
// the structure itself and stands for all its fields.
type BitSet []uint64

// Has reports whether i is in the set.
func (s BitSet) Has(i int) bool { return i>>6 < len(s) && s[i>>6]>>(i&63)&1 != 0 }

// Add adds i to the set.
func (s *BitSet) Add(i int) {
	for i>>6 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[i>>6] |= 1 << (i & 63)
}

// Empty reports whether the set is empty.
func (s BitSet) Empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// Next returns the first number from i on that is in the set, or -1 if there is none.
func (s BitSet) Next(i int) int {
	for w := i >> 6; w < len(s); w++ {
		word := s[w]
		if w == i>>6 {
			word &= ^uint64(0) << (i & 63)
		}
		if word != 0 {
			return w<<6 + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// BitSet reads a set into the memory of s. On the wire, complete words of 64 bits have the
// byte order of the message. Up to seven bytes follow, the lowest byte first.
func (r *Reader) BitSet(s BitSet) BitSet {
	s = s[:0]
	b := r.Bytes(r.count(1))
	for ; len(b) >= 8; b = b[8:] {
		s = append(s, r.order.Uint64(b))
	}
	if len(b) > 0 {
		var last uint64
		for i, v := range b {
			last |= uint64(v) << (8 * i)
		}
		s = append(s, last)
	}
	return s
}

// AppendBitSet appends a set.
func AppendBitSet(dst []byte, s BitSet, o Order) []byte {
	for len(s) > 0 && s[len(s)-1] == 0 {
		s = s[:len(s)-1]
	}
	if len(s) == 0 {
		return AppendSize(dst, 0, o)
	}
	whole := len(s)
	rest := (bits.Len64(s[whole-1]) + 7) / 8
	if rest < 8 {
		whole--
	} else {
		rest = 0
	}
	dst = AppendSize(dst, 8*whole+rest, o)
	for _, w := range s[:whole] {
		dst = o.AppendUint64(dst, w)
	}
	for i := range rest {
		dst = append(dst, byte(s[whole]>>(8*i)))
	}
	return dst
}
