package proto

import "errors"

// PartKind is the kind of a Part.
type PartKind uint8

// These are the kinds of a Part.
const (
	// NullPart is a union, an Any or an array element without a value.
	NullPart PartKind = iota
	// Numbers is a number or an array of numbers. Bytes has the numbers in little-endian
	// order.
	Numbers
	// Text is a string. Bytes has its text.
	Text
	// Open is the start of a structure, or of an array of strings, structures, unions or Anys.
	// Its members or elements follow, and then Close.
	Open
	Close
)

// Part is a part of a stored structure.
type Part struct {
	Kind PartKind
	// Name is the name of a structure member. The value in a union or an Any has the name of
	// the union or the Any.
	Name string
	// Type is nil for NullPart.
	Type *Type
	// Bytes shares the memory of the stored structure.
	Bytes []byte
}

var errRest = errors.New("bytes come after the end of the structure")

// Walk visits the parts of a stored structure in order, depth first. stored has the type of
// the structure, as AppendType writes it in LittleEndian, and then its value in canonical
// form. For unions and Anys, Walk calls visit with the value in them. If Walk fails, it may
// already have called visit for some parts. All names together have at most 1 MiB plus 64
// times the bytes of stored.
func Walk(stored []byte, visit func(*Part)) error {
	w := walker{r: NewReader(stored, LittleEndian), visit: visit, names: freeNames + maxNames*len(stored)}
	t := w.r.Type(nil)
	switch {
	case w.r.err != nil:
		return w.r.err
	case t == nil:
		w.emit(NullPart, "", nil, nil)
	default:
		w.value("", t, maxDepth)
	}
	if w.r.err == nil && w.r.Len() > 0 {
		w.r.fail(errRest)
	}
	return w.r.err
}

// These limits apply to the names that Walk passes to visit. An array of structures repeats
// the names of its members.
const (
	maxNames  = 64 // bytes of names per byte of the structure
	freeNames = 1 << 20
)

type walker struct {
	r     Reader
	visit func(*Part)
	part  Part
	names int // remaining bytes of names
}

func (w *walker) emit(kind PartKind, name string, t *Type, b []byte) {
	if w.r.err != nil {
		return
	}
	w.part = Part{Kind: kind, Name: name, Type: t, Bytes: b}
	w.visit(&w.part)
}

// value visits the parts of a value. It has the same limits as Reader.value.
func (w *walker) value(name string, t *Type, depth int) {
	if depth == 0 {
		w.r.fail(errTooComplex)
		return
	}
	switch t.Code {
	case Struct:
		w.structure(name, t, depth)
	case Union:
		i, ok := w.r.selector(t)
		if !ok {
			w.emit(NullPart, name, nil, nil)
			return
		}
		w.value(name, t.Members[i], depth-1)
	case Any:
		w.any(name, depth)
	case String, BoundedString:
		s := w.r.text(t)
		w.emit(Text, name, t, s)
	case Struct | Array, Union | Array, Any | Array:
		w.list(name, t, depth)
	default:
		w.leaf(name, t)
	}
}

func (w *walker) structure(name string, t *Type, depth int) {
	if !w.r.spend(&w.r.work, len(t.Members)) {
		return
	}
	w.emit(Open, name, t, nil)
	for i, m := range t.Members {
		if !w.r.spend(&w.names, len(t.Names[i])) {
			return
		}
		w.value(t.Names[i], m, depth-1)
	}
	w.emit(Close, name, t, nil)
}

func (w *walker) any(name string, depth int) {
	t := w.r.typ(nil, depth)
	if t == nil {
		w.emit(NullPart, name, nil, nil)
		return
	}
	w.value(name, t, depth-1)
}

func (w *walker) list(name string, t *Type, depth int) {
	w.emit(Open, name, t, nil)
	for range w.r.count(1) {
		present := w.r.Uint8()
		switch {
		case w.r.err != nil:
			return
		case present == 0:
			w.emit(NullPart, "", nil, nil)
		case t.Code.Elem() == Any:
			w.any("", depth)
		default:
			w.value("", t.Members[0], depth-1)
		}
	}
	w.emit(Close, name, t, nil)
}

// leaf visits a number, or an array of numbers or strings.
func (w *walker) leaf(name string, t *Type) {
	n, width := 1, t.Code.Width()
	if t.Code.Shape() != 0 {
		n = w.r.elements(t)
	}
	if width > 0 {
		b := w.r.Bytes(n * width)
		w.emit(Numbers, name, t, b)
		return
	}
	w.emit(Open, name, t, nil)
	for i := 0; i < n && w.r.err == nil; i++ {
		s := w.r.String()
		w.emit(Text, "", Of(String), s)
	}
	w.emit(Close, name, t, nil)
}
