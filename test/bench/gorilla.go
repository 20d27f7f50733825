package main

import (
	"encoding/binary"
	"math/bits"

	"varve.dev/varve/engine/sample"
)

// gorilla encodes samples like Facebook's Gorilla, with the time buckets of Prometheus. It
// stores differences of time differences, and each value XORed with the value before it.
//
//	time   0                        the difference is the same as before
//	       10, 110, 1110, 1111      the change of the difference, in 14, 17, 20, 64 bits
//	value  0                        the same
//	       10                       the bits that differ, within the previous range of bits
//	       11, 5 bits, 6 bits       leading zeros, number of bits, the bits
type gorilla struct {
	out  []byte
	acc  uint64
	have int // bits in acc
}

// buckets are the ranges of time changes: the prefix, its number of bits, and the number of
// bits of the change.
var buckets = [...]struct {
	prefix uint64
	size   int
	bits   int
}{{0b10, 2, 14}, {0b110, 3, 17}, {0b1110, 4, 20}, {0b1111, 4, 64}}

// put appends the low size bits of v, the highest first.
func (g *gorilla) put(v uint64, size int) {
	if free := 64 - g.have; size < free {
		g.acc |= v & (1<<size - 1) << (free - size)
		g.have += size
		return
	} else if size > free {
		g.out = binary.BigEndian.AppendUint64(g.out, g.acc|v>>(size-free)&(1<<free-1))
		g.acc, g.have = v<<(64-size+free), size-free
		return
	}
	g.out = binary.BigEndian.AppendUint64(g.out, g.acc|v&(1<<size-1))
	g.acc, g.have = 0, 0
}

// encode appends a run of a type of fixed size to dst. It stores times as multiples of unit,
// in ns.
func (g *gorilla) encode(dst []byte, r *sample.Run, unit int64) []byte {
	*g = gorilla{out: dst}
	var before, step, value uint64
	leading, trailing := 64, 0
	for i, t := range r.Times {
		t := uint64(t / unit)
		change := t - before - step
		before, step = t, t-before
		g.time(int64(change))

		x := r.Words[i] ^ value
		value = r.Words[i]
		if x == 0 {
			g.put(0, 1)
			continue
		}
		lead, trail := min(bits.LeadingZeros64(x), 31), bits.TrailingZeros64(x)
		if leading < 64 && lead >= leading && trail >= trailing {
			g.put(0b10, 2)
		} else {
			leading, trailing = lead, trail
			g.put(0b11, 2)
			g.put(uint64(lead), 5)
			g.put(uint64(64-lead-trail)&63, 6)
		}
		g.put(x>>trailing, 64-leading-trailing)
	}
	return binary.BigEndian.AppendUint64(g.out, g.acc)
}

func (g *gorilla) time(change int64) {
	if change == 0 {
		g.put(0, 1)
		return
	}
	for _, b := range buckets {
		if b.bits == 64 || change >= -1<<(b.bits-1) && change < 1<<(b.bits-1) {
			g.put(b.prefix, b.size)
			g.put(uint64(change), b.bits)
			return
		}
	}
}

// bitsAt returns size bits of b, starting at the given bit.
func bitsAt(b []byte, bit, size int) uint64 {
	at, shift := bit>>3, bit&7
	v := binary.BigEndian.Uint64(b[at:])<<shift | uint64(b[at+8])>>(8-shift)
	return v >> (64 - size)
}

// decode decodes b into r, whose slices already have the number of samples. b must have 16
// extra bytes at its end.
func (g *gorilla) decode(r *sample.Run, b []byte, unit int64) {
	var before, step, value uint64
	leading, trailing, bit := 0, 0, 0
	for i := range r.Times {
		if bitsAt(b, bit, 1) == 0 {
			bit++
		} else {
			k := min(bits.LeadingZeros8(^uint8(bitsAt(b, bit, 8)))-1, 3)
			bit += buckets[k].size
			size := buckets[k].bits
			step += uint64(int64(bitsAt(b, bit, size)<<(64-size)) >> (64 - size))
			bit += size
		}
		before += step
		r.Times[i] = int64(before) * unit

		switch {
		case bitsAt(b, bit, 1) == 0:
			bit++
		case bitsAt(b, bit, 2) == 0b10:
			bit += 2
			value ^= bitsAt(b, bit, 64-leading-trailing) << trailing
			bit += 64 - leading - trailing
		default:
			leading = int(bitsAt(b, bit+2, 5))
			size := int(bitsAt(b, bit+7, 6))
			if size == 0 {
				size = 64
			}
			trailing = 64 - leading - size
			bit += 13
			value ^= bitsAt(b, bit, size) << trailing
			bit += size
		}
		r.Words[i] = value
	}
}
