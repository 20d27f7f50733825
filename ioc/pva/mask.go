package pva

import (
	"errors"

	"varve.dev/varve/engine/pva/proto"
)

var (
	errNoField       = errors.New("the request names no field that the PV has")
	errTooManyShapes = errors.New("the client requests too many different sets of fields")
)

// mask returns the leaves that a pvRequest selects. By default it selects all leaves. As in
// PVXS, unknown field names are ignored if at least one name is known.
func (l *layout) mask(request *proto.Type) (m proto.BitSet, err error) {
	var field *proto.Type
	if request != nil {
		field, _ = request.Member("field")
	}
	if field == nil || !choosy(field) {
		l.add(&m, 0, l.typ.Fields())
		return m, nil
	}
	l.choose(&m, l.typ, 0, field)
	if m.Empty() {
		return nil, errNoField
	}
	return m, nil
}

// choosy reports whether a part of a request has names of fields.
func choosy(want *proto.Type) bool {
	for _, name := range want.Names {
		if name != "_options" {
			return want.Code == proto.Struct
		}
	}
	return false
}

// choose adds the requested fields of structure t, whose field number is number.
func (l *layout) choose(m *proto.BitSet, t *proto.Type, number int, want *proto.Type) {
	for i, name := range want.Names {
		field, n := t.Member(name)
		switch sub := want.Members[i]; {
		case field == nil:
		case field.Code == proto.Struct && choosy(sub):
			l.choose(m, field, number+n, sub)
		default:
			l.add(m, number+n, number+n+field.Fields())
		}
	}
}

// add adds the leaves whose numbers are at least from and less than to.
func (l *layout) add(m *proto.BitSet, from, to int) {
	for _, f := range l.leaves {
		if f.number >= from && f.number < to {
			m.Add(f.number)
		}
	}
}

// all reports whether all leaves are in a mask.
func (l *layout) all(m proto.BitSet) bool {
	for _, f := range l.leaves {
		if !m.Has(f.number) {
			return false
		}
	}
	return true
}
