package proto

// NewStruct returns a structure type. The members are given as name, type, name, type…
func NewStruct(id string, members ...any) *Type { return newType(Struct, id, members) }

// NewUnion returns a union type. The members are given as name, type, name, type…
func NewUnion(id string, members ...any) *Type { return newType(Union, id, members) }

func newType(c Code, id string, members []any) *Type {
	t := &Type{Code: c, ID: id}
	for i := 0; i < len(members); i += 2 {
		t.Names = append(t.Names, members[i].(string))
		t.Members = append(t.Members, members[i+1].(*Type))
	}
	return t.mustMeasure()
}

// Of returns the type of a code. The code must describe its type completely.
func Of(c Code) *Type {
	if t := plain[c]; t != nil {
		return t
	}
	panic("BUG: " + c.String() + " needs a bound or members")
}

// ArrayOf returns the type of arrays of any length with an element type.
func ArrayOf(elem *Type) *Type {
	if c := elem.Code; c != Struct && c != Union {
		return Of(c | Array)
	}
	return (&Type{Code: elem.Code | Array, Members: []*Type{elem}}).mustMeasure()
}

// Sized returns the type of bounded strings, or of bounded or fixed arrays.
func Sized(c Code, bound int) *Type { return (&Type{Code: c, Bound: bound}).mustMeasure() }

func (t *Type) mustMeasure() *Type {
	if err := t.measure(); err != nil {
		panic("BUG: " + err.Error())
	}
	return t
}

// plain has the types that are completely described by their code.
var plain = func() (types [256]*Type) {
	for c := range codeNames {
		switch c {
		case Struct, Union, BoundedString:
			continue
		}
		types[c] = &Type{Code: c, fields: 1, depth: 1, size: 1}
		types[c|Array] = &Type{Code: c | Array, fields: 1, depth: 1, size: 1}
	}
	return types
}()
