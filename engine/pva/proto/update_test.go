package proto

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// An update with some fields of a new value makes what replacing those fields makes.
func TestUpdate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for range 2000 {
		typ := randomMembers(rng, Struct, 4)
		old, fresh := appendRandom(nil, typ, rng), appendRandom(nil, typ, rng)
		var changed BitSet
		for n := range typ.Fields() {
			if rng.IntN(4) == 0 && n > 0 || rng.IntN(20) == 0 {
				changed.Add(n)
			}
		}
		changed.Add(typ.Fields() + 5) // beyond the type: no matter
		o, f := NewReader(old, LittleEndian), NewReader(fresh, LittleEndian)
		want, wire := replace(typ, 0, changed, &o, &f, false)
		r := NewReader(wire, LittleEndian)
		got := r.Update([]byte("x"), typ, old, changed, nil)
		if r.Err() != nil || r.Len() != 0 || !bytes.Equal(got[1:], want) {
			t.Fatalf("%v of %v: % x, want % x, %v", numbers(changed), typ.Names, got[1:], want, r.Err())
		}
		for cut := range wire {
			r := NewReader(wire[:cut], LittleEndian)
			if r.Update(nil, typ, old, changed, nil); r.Err() == nil {
				t.Fatalf("%d of %d bytes are a whole update", cut, len(wire))
			}
		}
	}
}

// replace returns the value with the changed fields of fresh, and what a server
// sends of them.
func replace(t *Type, number int, changed BitSet, old, fresh *Reader, all bool) (value, wire []byte) {
	all = all || changed.Has(number)
	if t.Code != Struct {
		o, f := old.Value(nil, t, nil), fresh.Value(nil, t, nil)
		if all {
			return f, f
		}
		return o, nil
	}
	number++
	for _, m := range t.Members {
		v, w := replace(m, number, changed, old, fresh, all)
		value, wire = append(value, v...), append(wire, w...)
		number += m.Fields()
	}
	return value, wire
}

func TestUpdateOfABrokenValue(t *testing.T) {
	typ := NewStruct("", "a", Of(Int32), "b", Of(Int32))
	r := NewReader(le32(7), LittleEndian)
	if r.Update(nil, typ, []byte{1, 2, 3}, bitSet(1), nil); r.Err() == nil {
		t.Error("the value before is too short, and nothing is said")
	}
}
