package proto

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// elements are the type codes of random types.
var elements = []Code{
	Bool, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float32, Float64, String, BoundedString, Any, Struct, Union,
}

// randomType returns a random type that nests at most depth deep.
func randomType(rng *rand.Rand, depth int) *Type {
	c := elements[rng.IntN(len(elements))]
	if depth <= 1 {
		c = elements[rng.IntN(12)]
	}
	switch c {
	case BoundedString:
		return Sized(c, 10)
	case Struct, Union:
		t := randomMembers(rng, c, depth)
		if rng.IntN(3) == 0 {
			return ArrayOf(t)
		}
		return t
	}
	switch shape := Code(rng.IntN(4)) << 3; {
	case shape > Array && c != Any:
		return Sized(c|shape, 1+rng.IntN(5))
	case shape == Array:
		return Of(c | Array)
	}
	return Of(c)
}

func randomMembers(rng *rand.Rand, c Code, depth int) *Type {
	var members []any
	for i := range 1 + rng.IntN(4) {
		members = append(members, string(rune('a'+i)), randomType(rng, depth-1))
	}
	if c == Union {
		return NewUnion("u", members...)
	}
	return NewStruct("", members...)
}

// appendRandom appends a random value of t in canonical form.
func appendRandom(dst []byte, t *Type, rng *rand.Rand) []byte {
	width := t.Code.Width()
	switch {
	case t.Code == Struct:
		for _, m := range t.Members {
			dst = appendRandom(dst, m, rng)
		}
		return dst
	case t.Code == Union && rng.IntN(4) == 0:
		return append(dst, sizeNull)
	case t.Code == Union:
		i := rng.IntN(len(t.Members))
		return appendRandom(AppendSize(dst, i, LittleEndian), t.Members[i], rng)
	case t.Code == Any && rng.IntN(4) == 0:
		return append(dst, byte(Null))
	case t.Code == Any:
		inside := randomType(rng, 2)
		return appendRandom(AppendType(dst, inside, LittleEndian), inside, rng)
	case t.Code == String, t.Code == BoundedString:
		return AppendString(dst, "some text"[:rng.IntN(10)], LittleEndian)
	case width > 0 && t.Code.Shape() == 0:
		return appendRandomNumbers(dst, t.Code, 1, rng)
	}
	n := t.Bound
	if t.Code.Shape() != FixedArray {
		n = rng.IntN(max(n, 3) + 1)
		if t.Bound > 0 {
			n = min(n, t.Bound)
		}
		dst = AppendSize(dst, n, LittleEndian)
	}
	if width > 0 {
		return appendRandomNumbers(dst, t.Code, n, rng)
	}
	for range n {
		dst = appendRandomElement(dst, t, rng)
	}
	return dst
}

func appendRandomElement(dst []byte, t *Type, rng *rand.Rand) []byte {
	if t.Code.Elem() == String {
		return AppendString(dst, "x", LittleEndian)
	}
	if rng.IntN(3) == 0 {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	if t.Code.Elem() == Any {
		return append(AppendType(dst, Of(UInt8), LittleEndian), byte(rng.Uint32()))
	}
	return appendRandom(dst, t.Members[0], rng)
}

func appendRandomNumbers(dst []byte, c Code, n int, rng *rand.Rand) []byte {
	for range n * c.Width() {
		b := byte(rng.Uint32())
		if c.Elem() == Bool {
			b &= 1
		}
		dst = append(dst, b)
	}
	return dst
}

// appendBig reads a value of t in canonical form from r, and appends it in the encoding of a
// big-endian peer.
func appendBig(dst []byte, t *Type, r *Reader) []byte {
	width := t.Code.Width()
	switch {
	case t.Code == Struct:
		for _, m := range t.Members {
			dst = appendBig(dst, m, r)
		}
		return dst
	case t.Code == Union:
		i, null := r.Size()
		if null {
			return append(dst, sizeNull)
		}
		return appendBig(AppendSize(dst, i, BigEndian), t.Members[i], r)
	case t.Code == Any:
		inside := r.Type(nil)
		dst = AppendType(dst, inside, BigEndian)
		if inside == nil {
			return dst
		}
		return appendBig(dst, inside, r)
	case t.Code == String, t.Code == BoundedString:
		return AppendString(dst, r.String(), BigEndian)
	case width > 0 && t.Code.Shape() == 0:
		return appendReversed(dst, r.Bytes(width), width)
	}
	n := t.Bound
	if t.Code.Shape() != FixedArray {
		n, _ = r.Size()
		dst = AppendSize(dst, n, BigEndian)
	}
	for range n {
		dst = appendBigElement(dst, t, r)
	}
	return dst
}

func appendBigElement(dst []byte, t *Type, r *Reader) []byte {
	if width := t.Code.Width(); width > 0 {
		return appendReversed(dst, r.Bytes(width), width)
	}
	if t.Code.Elem() == String {
		return AppendString(dst, r.String(), BigEndian)
	}
	present := r.Uint8()
	dst = append(dst, present)
	switch {
	case present == 0:
		return dst
	case t.Code.Elem() == Any:
		return appendBig(dst, Of(Any), r)
	}
	return appendBig(dst, t.Members[0], r)
}

func appendReversed(dst, number []byte, width int) []byte {
	if width == 1 {
		return append(dst, number...)
	}
	number = slices.Clone(number)
	slices.Reverse(number)
	return append(dst, number...)
}

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
