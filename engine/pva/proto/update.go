package proto

// Update takes the changed fields of a structure off the payload and appends the
// whole value to dst in canonical form: what changed as it comes, the rest as in
// old, the value before, which is canonical too and no part of dst. A field that is
// changed brings all that is below it; 0 is the structure itself.
func (r *Reader) Update(dst []byte, t *Type, old []byte, changed BitSet, known *Types) []byte {
	before := NewReader(old, LittleEndian)
	dst = r.update(dst, t, 0, &before, changed, known, maxDepth)
	if before.err != nil {
		r.fail(before.err)
	}
	return dst
}

// update appends the field of a number.
func (r *Reader) update(dst []byte, t *Type, number int, old *Reader, changed BitSet, known *Types, depth int) []byte {
	if changed.Has(number) {
		old.skip(t)
		return r.value(dst, t, known, depth)
	}
	if next := changed.Next(number); t.Code != Struct || next < 0 || next >= number+t.fields {
		before := old.b
		old.skip(t)
		return append(dst, before[:len(before)-len(old.b)]...)
	}
	number++
	for _, m := range t.Members {
		dst = r.update(dst, m, number, old, changed, known, depth-1)
		number += m.fields
	}
	return dst
}

// skip goes past a value in canonical form.
func (r *Reader) skip(t *Type) {
	width := t.Code.Width()
	switch {
	case t.Code == Struct:
		for _, m := range t.Members {
			r.skip(m)
		}
	case t.Code == String, t.Code == BoundedString:
		r.String()
	case width > 0 && t.Code.Shape() == 0:
		r.Bytes(width)
	case width > 0:
		r.Bytes(r.elements(t) * width)
	case t.Code.Elem() == String:
		for n := r.elements(t); n > 0 && r.err == nil; n-- {
			r.String()
		}
	default:
		r.value(nil, t, nil, maxDepth) // seldom: unions, anys, lists
	}
}
