package proto

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// FuzzFrames reads frames from bytes like a connection.
func FuzzFrames(f *testing.F) {
	f.Add(AppendRequest(AppendControl(nil, SetByteOrder, FlagServer, 0), CmdMonitor, get, FlagBig))
	f.Add(AppendHeader(nil, Header{Version: Version, Flags: FlagFirst, Command: CmdMonitor, Size: 1 << 31}))
	f.Fuzz(func(t *testing.T, b []byte) {
		const most = 1 << 16
		for {
			var h Header
			payload, n, err := ReadFrame(b, &h, most)
			switch {
			case errors.Is(err, ErrShort):
				if n <= len(b) || n > HeaderSize+most {
					t.Fatalf("ReadFrame needs %d bytes, but there are already %d", n, len(b))
				}
				return
			case errors.Is(err, ErrTooLarge):
				if h.Size <= most || n != HeaderSize {
					t.Fatalf("ReadFrame accepts a frame that is too large: %+v", h)
				}
				return
			case err != nil:
				return
			case n != HeaderSize+len(payload) || n > len(b):
				t.Fatalf("ReadFrame found a frame of %d bytes in %d bytes", n, len(b))
			}
			b = b[n:]
		}
	})
}

// FuzzMessages parses bytes as every message of a client and of a server. A message that can
// be parsed and encoded must be the same after encoding and parsing it again.
func FuzzMessages(f *testing.F) {
	for i, m := range messages {
		f.Add(uint8(i), m.encode(nil, 0)[HeaderSize:], false)
		f.Add(uint8(i), m.encode(nil, FlagBig)[HeaderSize:], true)
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte, big bool) {
		r := NewReader(b, Order(big))
		if _, err := messages[int(which)%len(messages)].parse(&r); err == nil && r.Len() > len(b) {
			t.Fatalf("%d bytes of %d are not read", r.Len(), len(b))
		}
		r = NewReader(b, Order(big))
		if s, err := ParseSearch(&r); err == nil && len(s.Protocols) == 1 && s.Protocols[0] == "tcp" {
			again := NewReader(appendSearch(nil, &s, 0)[HeaderSize:], LittleEndian)
			if got, err := ParseSearch(&again); err != nil || len(got.Channels) != len(s.Channels) {
				t.Fatalf("%+v is decoded as %+v, %v", s, got, err)
			}
		}
		r = NewReader(b, Order(big))
		if set := r.BitSet(nil); r.Err() == nil {
			again := NewReader(AppendBitSet(nil, set, Order(big)), Order(big))
			if got := again.BitSet(nil); !bytes.Equal(AppendBitSet(nil, got, LittleEndian), AppendBitSet(nil, set, LittleEndian)) {
				t.Fatalf("%v is decoded as %v", set, got)
			}
		}
	})
}

// FuzzType reads types until the bytes end. A type must be the same after it is encoded with
// AppendType and read again. Its encoding must be at most as long as the type's size, which is
// limited.
func FuzzType(f *testing.F) {
	f.Add(AppendType(nil, specType, LittleEndian), false)
	f.Add(AppendType(nil, ArrayOf(NewUnion("u", "a", Of(Any))), LittleEndian), false)
	f.Add(AppendType([]byte{typeFull, 0, 1}, specType, BigEndian), true)
	f.Add([]byte{typeFull, 0, 1, byte(Struct), 0, 1, 1, 'm', byte(Int8), byte(Struct | Array), typeID, 0, 1}, true)
	f.Fuzz(func(t *testing.T, b []byte, big bool) {
		r, known := NewReader(b, Order(big)), new(Types)
		for r.Len() > 0 {
			typ := r.Type(known)
			if typ == nil {
				continue
			}
			again := AppendType(nil, typ, LittleEndian)
			if len(again) > typ.size || typ.size > maxTypes || typ.depth > maxDepth {
				t.Fatalf("the encoding has %d bytes, but the type has size %d", len(again), typ.size)
			}
			r := NewReader(again, LittleEndian)
			if got := r.Type(nil); !got.Equal(typ) || r.Len() > 0 || got.fields != typ.fields {
				t.Fatalf("% x is encoded again as % x, %v", again, AppendType(nil, got, LittleEndian), r.Err())
			}
		}
		if known.size > maxCached {
			t.Fatalf("the known types have %d bytes", known.size)
		}
	})
}

// FuzzValue reads a type and a value of this type. The canonical form must be at most as long
// as the bytes and the types in them, and must decode to itself.
func FuzzValue(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 20 {
		typ := randomMembers(rng, Struct, 3)
		f.Add(appendRandom(AppendType(nil, typ, LittleEndian), typ, rng), false)
	}
	f.Add(append(AppendType(nil, specType, BigEndian), specifiedValue...), true)
	f.Add([]byte{byte(Any | Array), 2, 1, typeFull, 1, 0, byte(Int8), 5, 1, typeID, 1, 0, 6}, false)
	f.Fuzz(func(t *testing.T, b []byte, big bool) {
		r, known := NewReader(b, Order(big)), new(Types)
		typ := r.Type(known)
		if typ == nil {
			return
		}
		value := r.Value(nil, typ, known)
		if len(value) > len(b)+maxTypes {
			t.Fatalf("a message of %d bytes becomes a value of %d bytes", len(b), len(value))
		}
		if r.Err() != nil {
			return
		}
		canonical := NewReader(value, LittleEndian)
		if again := canonical.Value(nil, typ, nil); canonical.Err() != nil || canonical.Len() > 0 || !bytes.Equal(again, value) {
			t.Fatalf("% x is encoded again as % x, %v", value, again, canonical.Err())
		}
		stored := append(AppendType(nil, typ, LittleEndian), value...)
		if err := Walk(stored, func(*Part) {}); err != nil && !errors.Is(err, errTooComplex) {
			t.Fatalf("% x: %v", stored, err)
		}
	})
}

// specifiedValue is a big-endian value of specType.
var specifiedValue = []byte("\x03\x01\x02\x03\x05\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x11\x22\x33\x44\x55\x66\x77\x88\xaa\xbb\xcc\xdd\xee\xee\xee\xee" +
	"\x11\x11\x11\x11\x22\x22\x22\x22\x0bAllo, Allo!\x01\x33\x33\x33\x33\x60\x06inside")

// FuzzWalk passes bytes to Walk as a stored structure. The total length of all names must be
// limited, and each opened part must be closed.
func FuzzWalk(f *testing.F) {
	rng := rand.New(rand.NewPCG(8, 1))
	for range 20 {
		typ := randomMembers(rng, Struct, 3)
		f.Add(appendRandom(AppendType(nil, typ, LittleEndian), typ, rng))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		open, names := 0, 0
		err := Walk(stored, func(p *Part) {
			switch p.Kind {
			case Open:
				open++
				names += len(p.Name)
			case Close:
				open--
			case Numbers:
				if len(p.Bytes)%p.Type.Code.Width() != 0 {
					t.Fatalf("a part has %d bytes of type %v", len(p.Bytes), p.Type.Code)
				}
				names += len(p.Name)
			default:
				names += len(p.Name)
			}
			if open < 0 || open > 2*maxDepth || names > freeNames+maxNames*len(stored) {
				t.Fatalf("%d parts are open, and there are %d bytes of names", open, names)
			}
		})
		if err == nil && open != 0 {
			t.Fatalf("%d parts are not closed", open)
		}
	})
}
