package proto

import (
	"errors"
	"fmt"
)

// Types has the types to which one side of a connection has given numbers. Each direction of a
// connection has its own Types. The zero value is empty.
type Types struct {
	byID map[uint16]*Type
	size int // sum of Type.size
}

// maxCached limits the memory of all types to which a peer has given numbers. It is enough for
// about ten thousand channels, each with a type of its own.
const maxCached = 32 << 20

var (
	errCacheFull = errors.New("the types that the peer numbered take too much memory")
	errUnknownID = errors.New("a type number is unknown")

	errNumberedNull = errors.New("a number is assigned to the null type")
)

// get returns the type with a number, or nil if there is none. c may be nil.
func (c *Types) get(id uint16) *Type {
	if c == nil {
		return nil
	}
	return c.byID[id]
}

func (c *Types) put(id uint16, t *Type) error {
	if c == nil {
		return errUnknownID
	}
	if c.byID == nil {
		c.byID = map[uint16]*Type{}
	}
	size := c.size + t.size
	if old := c.byID[id]; old != nil {
		size -= old.size
	}
	if size > maxCached {
		return errCacheFull
	}
	c.byID[id], c.size = t, size
	return nil
}

// Type reads a type from the payload. It returns nil for the null type. known has the types to
// which the sender has given numbers. It is nil where numbers are not allowed.
func (r *Reader) Type(known *Types) *Type { return r.typ(known, maxDepth) }

func (r *Reader) typ(known *Types, depth int) *Type {
	if depth == 0 {
		r.fail(errTooComplex)
		return nil
	}
	switch code := Code(r.Uint8()); {
	case r.err != nil, code == Null:
		return nil
	case code == typeID:
		t := known.get(r.Uint16())
		if t == nil {
			r.fail(errUnknownID)
			return nil
		}
		if t.depth > depth {
			r.fail(errTooComplex)
			return nil
		}
		if !r.spend(&r.types, t.size) {
			return nil
		}
		return t
	case code == typeFull:
		id := r.Uint16()
		t := r.typ(known, depth-1)
		if t == nil {
			r.fail(errNumberedNull)
			return nil
		}
		if err := known.put(id, t); err != nil {
			r.fail(err)
			return nil
		}
		return t
	case plain[code] != nil:
		return plain[code]
	case !r.spend(&r.types, nodeSize):
		return nil
	default:
		return r.describe(code, known, depth)
	}
}

// describe reads the rest of a type after its code.
func (r *Reader) describe(code Code, known *Types, depth int) *Type {
	t := &Type{Code: code}
	switch elem, shape := code.Elem(), code.Shape(); {
	case codeNames[elem] == "", elem >= Struct && shape > Array, elem == BoundedString && shape != 0:
		r.fail(fmt.Errorf("0x%02x is not a type code", uint8(code)))
	case shape > Array, elem == BoundedString:
		t.Bound, _ = r.Size()
	case shape == Array && (elem == Struct || elem == Union):
		m := r.typ(known, depth-1)
		if m == nil || m.Code != elem {
			r.fail(fmt.Errorf("an array of %v has elements of another type", elem))
			break
		}
		t.Members = []*Type{m}
	case elem == Struct, elem == Union:
		r.members(t, known, depth)
	}
	if r.err == nil {
		if err := t.measure(); err != nil {
			r.fail(err)
		}
	}
	if r.err != nil {
		return nil
	}
	return t
}

// members reads the members of a structure or union.
func (r *Reader) members(t *Type, known *Types, depth int) {
	t.ID = string(r.String())
	n := r.count(2) // each member has a name and a type
	if !r.spend(&r.types, len(t.ID)+n*memberSize) {
		return
	}
	t.Names, t.Members = make([]string, 0, n), make([]*Type, 0, n)
	for range n {
		name := string(r.String())
		m := r.typ(known, depth-1)
		if m == nil {
			r.fail(fmt.Errorf("the member %q has no type", name))
			return
		}
		t.Names, t.Members = append(t.Names, name), append(t.Members, m)
	}
}
