package block

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/varve/engine/sample"
)

// allTypes returns all types that a channel may have.
func allTypes() (all []sample.Type) {
	for t := sample.Bool; t.Valid(); t++ {
		all = append(all, t, t.Array())
	}
	return all
}

// odd holds words that arithmetic would not preserve: quiet and signalling NaN with a
// payload, negative zero, denormals, infinities, and the ends of integers.
var odd = []uint64{
	0, 1, math.MaxUint64, 1 << 63, 0x7ff8_dead_beef_0001, 0xfff0_0000_0000_0001, 0x7ff0_0000_0000_0000, 0x8000_0000_0000_0001,
	0x7fc0_0001, 0xff80_0001, 0x8000_0000, 0x7f80_0000, uint64(math.MaxInt64), math.Float64bits(0.1), math.Float64bits(1e22),
}

// anyValue fills in a random value of a type, as a source may deliver it.
func anyValue(rng *rand.Rand, t sample.Type, s *sample.Sample) {
	word := func() uint64 {
		if rng.IntN(3) == 0 {
			return odd[rng.IntN(len(odd))]
		}
		return rng.Uint64() >> rng.IntN(64)
	}
	if t.Fixed() {
		s.Word = word()
		if t == sample.Float32 || t == sample.Uint32 {
			s.Word &= math.MaxUint32
		}
		return
	}
	n := []int{0, 0, 1, 2, 7, 100, 3000}[rng.IntN(7)]
	some := func(n int) []byte {
		b := make([]byte, n)
		for i := 0; i+8 <= n && rng.IntN(4) > 0; i += 8 {
			for k := range 8 {
				b[i+k] = byte(word() >> (8 * k))
			}
		}
		return b
	}
	switch {
	case t == sample.String.Array(), t == sample.Struct.Array():
		elems := make([]string, n%200)
		for i := range elems {
			elems[i] = string(some(rng.IntN(20)))
		}
		s.Bytes = sample.AppendStrings(nil, elems...)
	case t.IsArray():
		s.Bytes = some(n * t.ElemSize())
	default:
		s.Bytes = some(n)
	}
}

// same compares like equal, but without a diff.
func same(a, b *sample.Run) bool {
	return a.Type == b.Type && slices.Equal(a.Times, b.Times) && slices.Equal(a.Tags, b.Tags) && slices.Equal(a.Words, b.Words) &&
		slices.Equal(a.Ends, b.Ends) && bytes.Equal(a.Bytes, b.Bytes)
}

// TestAnyValueOfAnyType checks that values of every type decode bit for bit and in their
// original order, even if times are equal.
func TestAnyValueOfAnyType(t *testing.T) {
	for seed := range uint64(15) {
		rng := rand.New(rand.NewPCG(seed, 9))
		for _, typ := range allTypes() {
			r := &sample.Run{Type: typ}
			now := rng.Int64N(2e18) - 1e18
			for range 1 + rng.IntN(40) {
				s := sample.Sample{Time: now, Tag: sample.Tag(rng.Uint32())}
				anyValue(rng, typ, &s)
				r.Append(&s)
				if rng.IntN(3) > 0 {
					now += rng.Int64N(3e9) - 1e9
				}
			}
			blob := Append(nil, r)
			var got sample.Run
			if err := Decode(&got, blob); err != nil {
				t.Fatalf("seed %d: %v: %v", seed, typ, err)
			}
			if !same(r, &got) {
				t.Fatalf("seed %d: %v (-want +got):\n%s", seed, typ, equal(r, &got))
			}
			if typ == sample.String.Array() {
				for i := range r.Len() {
					if fmt.Sprint(sample.Strings(r.Value(i))) != fmt.Sprint(sample.Strings(got.Value(i))) {
						t.Fatalf("seed %d: other strings", seed)
					}
				}
			}
		}
	}
}

// TestLargeValues checks that one value of any size up to the largest fits into a block.
func TestLargeValues(t *testing.T) {
	for _, size := range []int{1 << 20, 1_600_000, 17 << 20} {
		for _, typ := range []sample.Type{sample.Float64.Array(), sample.Struct} {
			v := make([]byte, size)
			for i := range v[:1<<16] { // the squares repeat after that
				v[i] = byte(i * i >> 7)
			}
			for n := 1 << 16; n < len(v); {
				n += copy(v[n:], v[:n])
			}
			r := &sample.Run{Type: typ}
			r.Append(&sample.Sample{Time: 5, Bytes: v})
			blob := Append(nil, r)
			if len(blob) > size+100 {
				t.Errorf("%d bytes of %v take %d", size, typ, len(blob))
			}
			var got sample.Run
			if err := Decode(&got, blob); err != nil || got.Len() != 1 || !bytes.Equal(got.Value(0), v) {
				t.Errorf("%d bytes of %v do not come back: %v", size, typ, err)
			}
			if err := Decode(new(sample.Run), blob[:len(blob)-1]); err == nil {
				t.Errorf("%d bytes of %v, cut short, decode", size, typ)
			}
		}
	}
}

// TestPartsOfARun checks that parts of a run decode like the whole run, whether or not they
// share its memory.
func TestPartsOfARun(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, typ := range allTypes() {
		r := randomRun(rng, typ, 50)
		from, to := rng.IntN(25), 25+rng.IntN(26)
		var part sample.Run
		r.Part(&part, from, to)
		copied := &sample.Run{Type: typ}
		copied.AppendRange(r, from, to)
		if d := equal(copied, &part); d != "" {
			t.Fatalf("%v: a part differs from a copy:\n%s", typ, d)
		}
		if !bytes.Equal(Append(nil, copied), Append(nil, &part)) {
			t.Fatalf("%v: a part is encoded in another way than a copy", typ)
		}
	}
}
