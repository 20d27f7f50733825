package sample

import (
	"bytes"
	"math"
	"slices"
	"sort"
)

// Run is a series of samples of one channel and one type, as columns of equal length.
// They are in order of arrival until Normalize is called.
//
// Words holds the values of a Fixed type. For other types the value of sample i
// is Bytes[Ends[i-1]:Ends[i]], with Ends[-1] taken as 0.
type Run struct {
	Type  Type
	Times []int64
	Tags  []Tag
	Words []uint64
	Ends  []uint32
	Bytes []byte
}

// Len returns the number of samples.
func (r *Run) Len() int { return len(r.Times) }

// Size returns the bytes of memory that the samples take.
func (r *Run) Size() int { return 12*len(r.Times) + 8*len(r.Words) + 4*len(r.Ends) + len(r.Bytes) }

// Reset empties the run and sets its type. It keeps the memory.
func (r *Run) Reset(t Type) {
	r.Type = t
	r.Times, r.Tags, r.Words = r.Times[:0], r.Tags[:0], r.Words[:0]
	r.Ends, r.Bytes = r.Ends[:0], r.Bytes[:0]
}

// Append adds a sample and copies its bytes.
func (r *Run) Append(s *Sample) {
	r.Times = append(r.Times, s.Time)
	r.Tags = append(r.Tags, s.Tag)
	if r.Type.Fixed() {
		r.Words = append(r.Words, s.Word)
		return
	}
	r.Bytes = append(r.Bytes, s.Bytes...)
	r.Ends = append(r.Ends, uint32(len(r.Bytes)))
}

// At returns sample i. Its Bytes belong to the run and are valid until the run changes.
func (r *Run) At(i int) Sample {
	s := Sample{Time: r.Times[i], Tag: r.Tags[i]}
	if r.Type.Fixed() {
		s.Word = r.Words[i]
	} else {
		s.Bytes = r.Value(i)
	}
	return s
}

// Value returns the bytes of sample i of a type that is not Fixed.
func (r *Run) Value(i int) []byte {
	return r.Bytes[r.start(i):r.Ends[i]:r.Ends[i]]
}

// Float returns sample i of a Fixed type as a number.
func (r *Run) Float(i int) float64 { return Float(r.Type, r.Words[i]) }

// AppendRange adds the samples in [from, to) of o, which must have the same type.
func (r *Run) AppendRange(o *Run, from, to int) {
	r.Times = append(r.Times, o.Times[from:to]...)
	r.Tags = append(r.Tags, o.Tags[from:to]...)
	if r.Type.Fixed() {
		r.Words = append(r.Words, o.Words[from:to]...)
		return
	}
	if from == to {
		return
	}
	start := o.start(from)
	shift := uint32(len(r.Bytes)) - start // may wrap around, and back again
	r.Bytes = append(r.Bytes, o.Bytes[start:o.Ends[to-1]]...)
	for _, end := range o.Ends[from:to] {
		r.Ends = append(r.Ends, end+shift)
	}
}

// start returns the offset in Bytes at which the value of sample i begins.
func (r *Run) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return r.Ends[i-1]
}

// DropFirst removes the first n samples and moves the other samples to the front. The memory
// of Bytes is released but not changed, because other runs may share it (see Share).
func (r *Run) DropFirst(n int) {
	if n == 0 {
		return
	}
	r.Times = dropFirst(r.Times, n)
	r.Tags = dropFirst(r.Tags, n)
	if r.Type.Fixed() {
		r.Words = dropFirst(r.Words, n)
		return
	}
	cut := r.Ends[n-1]
	r.Bytes = append([]byte(nil), r.Bytes[cut:]...)
	r.Ends = dropFirst(r.Ends, n)
	for i := range r.Ends {
		r.Ends[i] -= cut
	}
}

// keptRoom is the capacity that a column always keeps when elements are removed.
const keptRoom = 64

// dropFirst removes the first n elements. It shrinks a column that is mostly empty afterwards.
// With many PVs, the capacity that sealed samples leave behind would otherwise be most of the
// memory.
func dropFirst[E any](column []E, n int) []E {
	rest := column[n:]
	if cap(column) > 2*len(rest)+keptRoom {
		return append([]E(nil), rest...)
	}
	return slices.Delete(column, 0, n)
}

// Share returns a copy that shares the memory of r's Bytes, which may be large. The copy stays
// unchanged while r grows or drops its first samples. The caller must not write to the Bytes
// of the copy.
func (r *Run) Share() *Run {
	c := *r
	c.Bytes = nil
	c = *c.Clone()
	c.Bytes = r.Bytes[:len(r.Bytes):len(r.Bytes)]
	return &c
}

// Part sets p to the samples in [from, to) of r. It shares only the memory of r's Bytes,
// as Share does.
func (r *Run) Part(p *Run, from, to int) {
	p.Reset(r.Type)
	p.Times = append(p.Times, r.Times[from:to]...)
	p.Tags = append(p.Tags, r.Tags[from:to]...)
	if r.Type.Fixed() {
		p.Words = append(p.Words, r.Words[from:to]...)
		return
	}
	first := r.start(from)
	end := r.start(to)
	p.Bytes = r.Bytes[first:end:end]
	for _, end := range r.Ends[from:to] {
		p.Ends = append(p.Ends, end-first)
	}
}

// LastBefore returns the last time at or before at, or math.MinInt64 if there is none.
func (r *Run) LastBefore(at int64) int64 {
	last := int64(math.MinInt64)
	for _, t := range r.Times {
		if t <= at {
			last = max(last, t)
		}
	}
	return last
}

// Within returns the samples with times in [from, to] and the samples with the last time at or
// before from, in their order. If these are all samples, it returns r itself. Otherwise the
// result shares at most the memory of r's Bytes, as in Share.
func (r *Run) Within(from, to int64) *Run {
	first := r.LastBefore(from)
	out := &Run{Type: r.Type}
	for i := 0; i < r.Len(); {
		j := i
		for j < r.Len() && first <= r.Times[j] && r.Times[j] <= to {
			j++
		}
		if j-i == r.Len() {
			return r
		}
		if i < j && out.Len() == 0 {
			r.Part(out, i, j)
		} else {
			out.AppendRange(r, i, j)
		}
		i = j + 1
	}
	return out
}

// Clone returns a copy that shares no memory with r.
func (r *Run) Clone() *Run {
	return &Run{
		Type: r.Type, Times: slices.Clone(r.Times), Tags: slices.Clone(r.Tags),
		Words: slices.Clone(r.Words), Ends: slices.Clone(r.Ends), Bytes: slices.Clone(r.Bytes),
	}
}

// same reports whether samples i and j are duplicates.
func (r *Run) same(i, j int) bool {
	if r.Times[i] != r.Times[j] || (r.Tags[i]^r.Tags[j])&^CarriedForward != 0 {
		return false
	}
	if r.Type.Fixed() {
		return r.Words[i] == r.Words[j]
	}
	return bytes.Equal(r.Value(i), r.Value(j))
}

// Normalize sorts the run by time, keeps the order of arrival among equal times, and
// removes duplicates.
func (r *Run) Normalize() {
	if r.normal() {
		return
	}
	order := make([]int, r.Len())
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return r.Times[order[a]] < r.Times[order[b]] })
	out := Run{Type: r.Type}
	kept := 0 // index in order of the first kept sample of the current time
	for i, k := range order {
		if r.Times[k] != r.Times[order[kept]] {
			kept = i
		}
		if !slices.ContainsFunc(order[kept:i], func(j int) bool { return r.same(j, k) }) {
			out.AppendRange(r, k, k+1)
		}
	}
	*r = out
}

// normal reports whether times strictly rise, so that Normalize has nothing to do.
func (r *Run) normal() bool {
	for i := 1; i < len(r.Times); i++ {
		if r.Times[i] <= r.Times[i-1] {
			return false
		}
	}
	return true
}
