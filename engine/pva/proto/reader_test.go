package proto

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestSizes(t *testing.T) {
	for _, o := range []Order{LittleEndian, BigEndian} {
		for _, c := range []struct{ n, bytes int }{
			{0, 1}, {1, 1}, {252, 1}, {253, 1}, {254, 5}, {255, 5}, {256, 5}, {65536, 5}, {math.MaxInt32 - 1, 5},
		} {
			b := AppendSize([]byte("x"), c.n, o)
			if len(b) != 1+c.bytes {
				t.Errorf("size %d is encoded in %d bytes, want %d", c.n, len(b)-1, c.bytes)
			}
			r := NewReader(b[1:], o)
			if n, null := r.Size(); n != c.n || null || r.Err() != nil || r.Len() != 0 {
				t.Errorf("size %d is decoded as %d, %v, %v", c.n, n, null, r.Err())
			}
		}
	}
	r := NewReader([]byte{0xff}, LittleEndian)
	if n, null := r.Size(); n != 0 || !null {
		t.Errorf("null size is %d, %v", n, null)
	}
	for _, n := range []uint32{math.MaxInt32, 1 << 31, math.MaxUint32} {
		r := NewReader(append([]byte{sizeLong}, le32(n)...), LittleEndian)
		if r.Size(); !errors.Is(r.Err(), errSize) {
			t.Errorf("reading size %d: %v", n, r.Err())
		}
	}
}

func TestStrings(t *testing.T) {
	for _, o := range []Order{LittleEndian, BigEndian} {
		for _, n := range []int{0, 1, 253, 254, 255, 70000} {
			want := strings.Repeat("s", n)
			b := AppendString(nil, want, o)
			for cut := range min(len(b), 300) {
				r := NewReader(b[:cut], o)
				if r.String(); !errors.Is(r.Err(), ErrTruncated) {
					t.Fatalf("reading a string from %d of %d bytes: %v", cut, len(b), r.Err())
				}
			}
			r := NewReader(b, o)
			if got := r.String(); string(got) != want || r.Len() != 0 {
				t.Errorf("string of %d bytes is decoded with %d bytes", n, len(got))
			}
		}
	}
	r := NewReader([]byte{sizeNull}, LittleEndian)
	if s := r.String(); len(s) != 0 || r.Err() != nil {
		t.Errorf("a null string is %q, %v", s, r.Err())
	}
}

// TestReaderStaysFailed checks that a reader returns zero values after an error and keeps the
// first error.
func TestReaderStaysFailed(t *testing.T) {
	r := NewReader([]byte{1, 2, 3}, LittleEndian)
	r.Uint32()
	first := r.Err()
	if !errors.Is(first, ErrTruncated) {
		t.Fatal(first)
	}
	r.fail(errors.New("another"))
	if r.Uint8() != 0 || r.Uint16() != 0 || r.Uint64() != 0 || r.Len() != 0 || !errors.Is(r.Err(), first) {
		t.Errorf("the reader continues after %v", first)
	}
	if s := r.Status(); s != (Status{}) {
		t.Errorf("a status after the end is %v", s)
	}
}

func TestNumbers(t *testing.T) {
	for _, o := range []Order{LittleEndian, BigEndian} {
		b := o.AppendUint64(o.AppendUint32(o.AppendUint16([]byte{1}, 0x0203), 0x04050607), 0x08090a0b0c0d0e0f)
		r := NewReader(b, o)
		if a, b, c, d := r.Uint8(), r.Uint16(), r.Uint32(), r.Uint64(); a != 1 || b != 0x0203 || c != 0x04050607 || d != 0x08090a0b0c0d0e0f {
			t.Errorf("%v: got numbers %x %x %x %x", o, a, b, c, d)
		}
		if big := bytes.HasPrefix(b, []byte{1, 2, 3, 4}); big != bool(o) {
			t.Errorf("%v: numbers are encoded as % x", o, b)
		}
	}
}
