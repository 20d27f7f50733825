package proto

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"
)

func bitSet(numbers ...int) (s BitSet) {
	for _, n := range numbers {
		s.Add(n)
	}
	return s
}

func numbers(s BitSet) (all []int) {
	for n := s.Next(0); n >= 0; n = s.Next(n + 1) {
		all = append(all, n)
	}
	return all
}

// TestBitSetsOfTheSpecification checks the examples of the specification, which are
// little-endian, and the big-endian encoding of complete words by PVXS.
func TestBitSetsOfTheSpecification(t *testing.T) {
	for _, c := range []struct {
		hex     string
		order   Order
		numbers []int
	}{
		{"00", LittleEndian, nil},
		{"0101", LittleEndian, []int{0}},
		{"0180", BigEndian, []int{7}},
		{"020001", BigEndian, []int{8}},
		{"0700000000000080", LittleEndian, []int{55}},
		{"080000000000000001", LittleEndian, []int{56}},
		{"080000000000000080", LittleEndian, []int{63}},
		{"088000000000000000", BigEndian, []int{63}},
		{"09000000000000000001", LittleEndian, []int{64}},
		{"09800000000000000001", BigEndian, []int{63, 64}},
		{"0117", LittleEndian, []int{0, 1, 2, 4}},
		{"0b000102030405060708090a", LittleEndian, []int{8, 17, 24, 25, 34, 40, 42, 49, 50, 56, 57, 58, 67, 72, 75, 81, 83}},
	} {
		want := bitSet(c.numbers...)
		if got := hex.EncodeToString(AppendBitSet(nil, want, c.order)); got != c.hex {
			t.Errorf("%v is encoded as %s, want %s", c.numbers, got, c.hex)
		}
		b, _ := hex.DecodeString(c.hex)
		r := NewReader(b, c.order)
		if got := r.BitSet(nil); !slices.Equal(numbers(got), c.numbers) || r.Len() != 0 {
			t.Errorf("%s is decoded as %v, want %v", c.hex, numbers(got), c.numbers)
		}
		for cut := range b {
			r := NewReader(b[:cut], c.order)
			if r.BitSet(nil); r.Err() == nil {
				t.Errorf("%s decodes without an error after %d bytes", c.hex, cut)
			}
		}
	}
}

func TestBitSetRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var memory BitSet
	for range 1000 {
		var want []int
		for n := rng.IntN(20); n < 300; n += 1 + rng.IntN(100) {
			want = append(want, n)
		}
		o := Order(rng.IntN(2) == 0)
		b := AppendBitSet([]byte{9}, append(bitSet(want...), 0, 0), o)
		r := NewReader(b[1:], o)
		memory = r.BitSet(memory)
		if got := numbers(memory); !slices.Equal(got, want) || r.Len() != 0 {
			t.Fatalf("%v is decoded as %v", want, got)
		}
		if !bytes.Equal(b, AppendBitSet([]byte{9}, memory, o)) {
			t.Fatalf("%v has two encodings", want)
		}
	}
}

func TestBitSet(t *testing.T) {
	s := bitSet(3, 64, 200)
	if !s.Has(64) || s.Has(63) || s.Has(1000) || s.Empty() {
		t.Errorf("%b", s)
	}
	if s.Next(201) != -1 || s.Next(64) != 64 || s.Next(1000) != -1 || !(BitSet{0, 0}).Empty() {
		t.Errorf("%b", s)
	}
}
