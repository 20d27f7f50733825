package proto

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"testing"
)

func TestValueOfTheSpecification(t *testing.T) {
	b := specified(t, "exampleValue")
	r := NewReader(b, BigEndian)
	got := r.Value(nil, specType, nil)
	if r.Err() != nil || r.Len() != 0 {
		t.Fatalf("decoding the value: %v, %d bytes left", r.Err(), r.Len())
	}
	want := "03010203" + "050405060708" + "090a0b0c" + "8877665544332211" + "ddccbbaa" + "eeeeeeee" + "11111111" + "22222222" +
		"0b416c6c6f2c20416c6c6f21" + "0133333333" + "601c" + hex.EncodeToString([]byte("String inside variant union."))
	if hex.EncodeToString(got) != want {
		t.Errorf("got %x, want\n%s", got, want)
	}
	canonical := NewReader(got, LittleEndian)
	if again := appendBig(nil, specType, &canonical); !bytes.Equal(again, b) {
		t.Errorf("% x is encoded again as % x", b, again)
	}
}

// TestValueRoundTrip checks that a value has the same canonical bytes in either byte order,
// and that truncated values are refused.
func TestValueRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 3000 {
		typ := randomType(rng, 4)
		want := appendRandom(nil, typ, rng)
		canonical := NewReader(want, LittleEndian)
		for o, wire := range map[Order][]byte{LittleEndian: want, BigEndian: appendBig(nil, typ, &canonical)} {
			r := NewReader(append(wire, "rest"...), o)
			got := r.Value([]byte("x"), typ, nil)
			if r.Err() != nil || r.Len() != len("rest") || !bytes.Equal(got[1:], want) {
				t.Fatalf("%v of % x\nis    % x,\nwant  % x, %v", typ.Code, wire, got, want, r.Err())
			}
			for cut := range wire {
				r := NewReader(wire[:cut], o)
				if r.Value(nil, typ, nil); r.Err() == nil {
					t.Fatalf("%v: %d of %d bytes decode to a value", typ.Code, cut, len(wire))
				}
			}
		}
	}
}

// TestCanonicalForm checks that each value has one canonical form, even if it has several
// encodings.
func TestCanonicalForm(t *testing.T) {
	var known Types
	point := NewStruct("", "x", Of(Int8))
	if err := known.put(1, point); err != nil {
		t.Fatal(err)
	}
	full := AppendType(nil, point, LittleEndian)
	for _, c := range []struct {
		name string
		typ  *Type
		wire []byte
		want []byte
	}{
		{"a boolean of 0x80", Of(Bool), []byte{0x80}, []byte{1}},
		{"booleans", Of(Bool | Array), []byte{3, 0, 255, 1}, []byte{3, 0, 1, 1}},
		{"a null string", Of(String), []byte{sizeNull}, []byte{0}},
		{"a long size", Of(String), []byte{sizeLong, 1, 0, 0, 0, 'x'}, []byte{1, 'x'}},
		{"a null array", Of(Int32 | Array), []byte{sizeNull}, []byte{0}},
		{"a present element of 7", ArrayOf(point), []byte{2, 7, 5, 0}, []byte{2, 1, 5, 0}},
		{"an any that is present and null", Of(Any | Array), []byte{1, 1, byte(Null)}, []byte{1, 0}},
		{"a numbered type", Of(Any), []byte{typeID, 1, 0, 5}, append(full, 5)},
		{"a type with a number", Of(Any), []byte{typeFull, 2, 0, byte(Int8), 5}, []byte{byte(Int8), 5}},
	} {
		r := NewReader(c.wire, LittleEndian)
		got := r.Value(nil, c.typ, &known)
		if r.Err() != nil || r.Len() != 0 || !bytes.Equal(got, c.want) {
			t.Errorf("%s is % x, want % x, %v", c.name, got, c.want, r.Err())
		}
	}
}

func TestBytesThatAreNoValue(t *testing.T) {
	union := NewUnion("", "x", Of(Int8))
	for name, c := range map[string]struct {
		typ  *Type
		wire []byte
		err  error
	}{
		"no such member":   {union, []byte{1, 5}, errSelector},
		"unknown type":     {Of(Any), []byte{typeID, 1, 0}, errUnknownID},
		"too many":         {Sized(Int8|BoundedArray, 2), []byte{3, 1, 2, 3}, nil},
		"too long":         {Sized(BoundedString, 2), []byte{3, 'a', 'b', 'c'}, nil},
		"too few":          {Sized(Int16|FixedArray, 2), []byte{1, 0, 2}, ErrTruncated},
		"strings too few":  {Sized(String|FixedArray, 2), []byte{1, 'a'}, ErrTruncated},
		"element of union": {ArrayOf(union), []byte{1, 1, 9}, errSelector},
	} {
		r := NewReader(c.wire, LittleEndian)
		if r.Value(nil, c.typ, nil); r.Err() == nil || c.err != nil && !errors.Is(r.Err(), c.err) {
			t.Errorf("%s: %v", name, r.Err())
		}
	}
}

// TestZero checks that the zero value of every type decodes to itself.
func TestZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for range 1000 {
		typ := randomType(rng, 4)
		zero := AppendZero(nil, typ)
		r := NewReader(zero, LittleEndian)
		if got := r.Value(nil, typ, nil); r.Err() != nil || r.Len() != 0 || !bytes.Equal(got, zero) {
			t.Fatalf("%v: % x is encoded again as % x, %v", typ.Code, zero, got, r.Err())
		}
	}
}
