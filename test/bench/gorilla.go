package main

import (
	"encoding/binary"
	"math/bits"

	"varve.dev/varve/engine/sample"
)

// gorilla is the encoding of Facebook's Gorilla, with the buckets of times that
// Prometheus has: differences of differences, and values XORed with the one before.
//
//	time   0                        the difference is the one before
//	       10, 110, 1110, 1111      14, 17, 20, 64 bits of how it differs
//	value  0                        the same
//	       10                       the bits that differ, within the former ones
//	       11, 5 bits, 6 bits       leading zeros, how many bits, the bits
type gorilla struct {
	out  []byte
	acc  uint64
	have int // bits in acc
}

// buckets of times: the bits in front, and those of the number.
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

// encode appends a run of a fixed type to dst. Times are in the unit that they have.
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

// take returns size bits of b from a bit on.
func take(b []byte, bit, size int) uint64 {
	at, shift := bit>>3, bit&7
	v := binary.BigEndian.Uint64(b[at:])<<shift | uint64(b[at+8])>>(8-shift)
	return v >> (64 - size)
}

// decode fills a run that has as many samples. The bytes have 16 more behind them.
func (g *gorilla) decode(r *sample.Run, b []byte, unit int64) {
	var before, step, value uint64
	leading, trailing, bit := 0, 0, 0
	for i := range r.Times {
		if take(b, bit, 1) == 0 {
			bit++
		} else {
			k := min(bits.LeadingZeros8(^uint8(take(b, bit, 8)))-1, 3)
			bit += buckets[k].size
			size := buckets[k].bits
			step += uint64(int64(take(b, bit, size)<<(64-size)) >> (64 - size))
			bit += size
		}
		before += step
		r.Times[i] = int64(before) * unit

		switch {
		case take(b, bit, 1) == 0:
			bit++
		case take(b, bit, 2) == 0b10:
			bit += 2
			value ^= take(b, bit, 64-leading-trailing) << trailing
			bit += 64 - leading - trailing
		default:
			leading = int(take(b, bit+2, 5))
			size := int(take(b, bit+7, 6))
			if size == 0 {
				size = 64
			}
			trailing = 64 - leading - size
			bit += 13
			value ^= take(b, bit, size) << trailing
			bit += size
		}
		r.Words[i] = value
	}
}
