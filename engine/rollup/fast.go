package rollup

import (
	"math"

	"varve.dev/varve/engine/sample"
)

// fast adds the samples in [from, to) of a run of numbers while they need no special handling.
// Each must have a finite value, lie in the open bin, whose kind is Number, and share its time
// with no other sample. fast returns the index of the first sample that it did not add. The
// run must have a sample at index to.
//
// fast does what applyGroup does for a group of one sample, in the same order, but keeps the
// changing fields in registers.
func (a *Accumulator) fast(dst []Bin, r *sample.Run, from, to int) ([]Bin, int) {
	b, h := &a.bin, &a.held
	for from < to {
		if !b.open || b.kind != Number || !h.valid || h.kind != Number || !b.referred || b.min != b.min {
			return dst, from
		}
		next := a.inBin(r, from, to)
		if next == from {
			return dst, from
		}
		a.at, a.begun = r.Times[next-1], true
		from = next
		if r.Times[from] >= b.end { // from ≤ to, so it exists; the next sample opens a bin
			dst = a.finish(dst)
			return dst, from
		}
	}
	return dst, from
}

// inBin is the loop of fast for the open bin.
func (a *Accumulator) inBin(r *sample.Run, from, to int) int {
	b, h := &a.bin, &a.held
	tag, severity := h.tag, b.severity
	if Undefined(tag) {
		return from
	}
	low, high, ref, area, sq := b.min, b.max, b.ref, b.area, b.sq
	first, sampled := b.first, b.sampled
	held, since, begun := h.number, h.since, h.since
	isFloat := r.Type == sample.Float64
	times, tags, words := r.Times[from:to+1], r.Tags[from:to+1], r.Words[from:to+1]
	n := 0
	for ; n < len(times)-1; n++ {
		t := times[n]
		if t >= b.end || times[n+1] == t {
			break
		}
		var v float64
		if isFloat {
			v = math.Float64frombits(words[n])
		} else {
			v = sample.Float(r.Type, words[n])
		}
		if v-v != 0 {
			break
		}
		if g := tags[n] &^ sample.CarriedForward; g != tag {
			if Undefined(g) {
				break
			}
			tag, severity = g, max(severity, g.Severity())
		}
		d := held - ref
		w := float64(d * float64(t-since))
		area += w
		sq += float64(w * d)
		if !sampled {
			first, sampled = v, true
		}
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
		held, since = v, t
	}
	if n == 0 {
		return from
	}
	b.severity, b.min, b.max, b.area, b.sq = severity, low, high, area, sq
	b.first, b.sampled = first, sampled
	b.count += uint64(n)
	b.covered += since - begun
	h.value = value{typ: r.Type, tag: tag, word: words[n-1], number: held}
	h.since = since
	return from + n
}
