package sample

import "slices"

// Cut removes the samples in [from, to) and moves the later samples forward. As in DropFirst,
// the memory of Bytes is released, and columns that are mostly empty shrink.
func (r *Run) Cut(from, to int) {
	if from == to {
		return
	}
	r.Times = cut(r.Times, from, to)
	r.Tags = cut(r.Tags, from, to)
	if r.Type.Fixed() {
		r.Words = cut(r.Words, from, to)
		return
	}
	first, end := r.start(from), r.start(to)
	kept := make([]byte, 0, len(r.Bytes)-int(end-first))
	r.Bytes = append(append(kept, r.Bytes[:first]...), r.Bytes[end:]...)
	r.Ends = cut(r.Ends, from, to)
	for i := range r.Ends[from:] {
		r.Ends[from+i] -= end - first
	}
}

func cut[E any](column []E, from, to int) []E {
	left := len(column) - (to - from)
	if cap(column) > 2*left+keptRoom {
		return append(append(make([]E, 0, left), column[:from]...), column[to:]...)
	}
	return slices.Delete(column, from, to)
}
