package proto

// Update takes the changed fields of a structure off the payload and appends the
// whole value to dst in canonical form: what changed as it comes, the rest as in
// old, the value before, which is canonical too and no part of dst. A field that is
// changed brings all that is below it; 0 is the structure itself.
func (r *Reader) Update(dst []byte, t *Type, old []byte, changed BitSet, known *Types) []byte {
	u := updater{r: r, old: NewReader(old, LittleEndian), changed: changed, known: known}
	dst = u.field(dst, t, 0, maxDepth)
	if u.old.err != nil {
		r.fail(u.old.err)
	}
	return dst
}

type updater struct {
	r       *Reader
	old     Reader
	changed BitSet
	known   *Types
}

// field appends the field of a number.
func (u *updater) field(dst []byte, t *Type, number, depth int) []byte {
	if u.changed.Has(number) {
		u.old.skip(t)
		return u.r.value(dst, t, u.known, depth)
	}
	if next := u.changed.Next(number); t.Code != Struct || next < 0 || next >= number+t.fields {
		before := u.old.b
		u.old.skip(t)
		return append(dst, before[:len(before)-len(u.old.b)]...)
	}
	number++
	for _, m := range t.Members {
		dst = u.field(dst, m, number, depth-1)
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
	default:
		r.value(nil, t, nil, maxDepth) // seldom: unions, anys, lists
	}
}
