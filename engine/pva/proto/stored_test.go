package proto

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// parts returns the parts that Walk visits, one word each.
func parts(stored []byte) (string, error) {
	var b strings.Builder
	err := Walk(stored, func(p *Part) {
		fmt.Fprintf(&b, " %s", p.Name)
		switch p.Kind {
		case NullPart:
			b.WriteString("=null")
		case Numbers:
			fmt.Fprintf(&b, "=%v:%x", p.Type.Code, p.Bytes)
		case Text:
			fmt.Fprintf(&b, "=%q", p.Bytes)
		case Open:
			b.WriteString("(")
		case Close:
			b.WriteString(")")
		}
	})
	return b.String(), err
}

func TestWalk(t *testing.T) {
	point := NewStruct("point", "x", Of(Int16))
	choice := NewUnion("", "n", Of(UInt8), "s", Of(String))
	typ := NewStruct("top",
		"b", Of(Bool), "d", Of(Int16|Array), "s", Of(String), "ss", Of(String|Array), "p", point, "pp", ArrayOf(point), "e", NewStruct(""),
		"u", choice, "v", choice, "uu", ArrayOf(choice), "a", Of(Any), "z", Of(Any), "aa", Of(Any|Array), "f", Sized(UInt8|FixedArray, 2))
	stored := AppendType(nil, typ, LittleEndian)
	for _, field := range []string{
		"\x01", "\x02\x01\x00\x02\x00", "\x01t", "\x02\x00\x01x", "\x05\x00", "\x02\x01\x06\x00\x00", "",
		"\x01\x01c", "\xff", "\x02\x01\x00\x09\x00", "\x24\x07", "\xff", "\x02\x01\x60\x01y\x00", "\x08\x09",
	} {
		stored = append(stored, field...)
	}
	want := ` ( b=boolean:01 d=short[]:01000200 s="t" ss( ="" ="x" ss) p( x=short:0500 p) pp( ( x=short:0600 ) =null pp) e( e)` +
		` u="c" v=null uu( =ubyte:09 =null uu) a=ubyte:07 z=null aa( ="y" =null aa) f=ubyte[]:0809 )`
	got, err := parts(stored)
	if err != nil || got != want {
		t.Errorf("Walk: %v, got parts\n%s, want\n%s", err, got, want)
	}
	for cut := range stored {
		if _, err := parts(stored[:cut]); err == nil {
			t.Errorf("Walk accepts %d of %d bytes as a structure", cut, len(stored))
		}
	}
	if _, err := parts(append(stored, 0)); !errors.Is(err, errRest) {
		t.Errorf("Walk of a structure with an additional byte: %v", err)
	}
}

// TestWalkThroughAnyValue checks that Walk accepts every value that Reader.Value returns, and
// closes each part that it opens.
func TestWalkThroughAnyValue(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for range 2000 {
		typ := randomMembers(rng, Struct, 4)
		stored := appendRandom(AppendType(nil, typ, LittleEndian), typ, rng)
		got, err := parts(stored)
		if err != nil || strings.Count(got, "(") != strings.Count(got, ")") {
			t.Fatalf("Walk of % x: %v, got parts %s", stored, err, got)
		}
	}
}

func TestWalkThroughNoType(t *testing.T) {
	if got, err := parts([]byte{byte(Null)}); err != nil || got != " =null" {
		t.Errorf("got parts %q, %v", got, err)
	}
	for _, b := range []string{"", "\x01", "\xfe\x01\x00", "\xfd\x01\x00\x20\x05"} {
		if _, err := parts([]byte(b)); err == nil {
			t.Errorf("Walk accepts %q as a structure", b)
		}
	}
}
