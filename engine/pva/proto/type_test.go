package proto

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// specified returns an example of the specification by name.
func specified(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/specification.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if first, digits, _ := strings.Cut(line, " "); first == name {
			b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(digits), " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatalf("there is no example %s", name)
	return nil
}

var (
	specTime = NewStruct("time_t", "secondsPastEpoch", Of(Int64), "nanoseconds", Of(Int32), "userTag", Of(Int32))
	specType = NewStruct("exampleStructure",
		"value", Of(Int8|Array), "boundedSizeArray", Sized(Int8|BoundedArray, 16), "fixedSizeArray", Sized(Int8|FixedArray, 4),
		"timeStamp", specTime,
		"alarm", NewStruct("alarm_t", "severity", Of(Int32), "status", Of(Int32), "message", Of(String)),
		"valueUnion", NewUnion("", "stringValue", Of(String), "intValue", Of(Int32), "doubleValue", Of(Float64)),
		"variantUnion", Of(Any))
)

func TestTypesOfTheSpecification(t *testing.T) {
	var known Types
	r := NewReader(specified(t, "exampleStructure"), BigEndian)
	if got := r.Type(&known); !got.Equal(specType) || r.Len() != 0 {
		t.Fatalf("got %+[3]v, %[1]v, %[2]d bytes left", r.Err(), r.Len(), got)
	}
	if len(known.byID) != 5 || !known.byID[2].Equal(specTime) || known.byID[5].Code != Any {
		t.Errorf("the reader knows %d types", len(known.byID))
	}
	r = NewReader(specified(t, "timeStamp_t"), BigEndian)
	stamp := r.Type(&known)
	if stamp == nil || stamp.ID != "timeStamp_t" || stamp.Names[2] != "userTag" || !known.byID[1].Equal(stamp) {
		t.Errorf("number 1 is %+v, %v", stamp, r.Err())
	}
}

func TestTypeRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for range 2000 {
		want := randomType(rng, 4)
		for _, o := range []Order{LittleEndian, BigEndian} {
			b := AppendType([]byte("x"), want, o)[1:]
			r := NewReader(b, o)
			got := r.Type(nil)
			if !got.Equal(want) || r.Len() != 0 {
				t.Fatalf("% x: %v", b, r.Err())
			}
			if got.fields != want.fields || got.depth != want.depth || got.size != want.size || got.size < len(b) {
				t.Fatalf("got type %+v, want %+v, encoded in %d bytes", got, want, len(b))
			}
			for cut := range b {
				r := NewReader(b[:cut], o)
				if r.Type(nil); r.Err() == nil {
					t.Fatalf("%d of %d bytes decode to a type", cut, len(b))
				}
			}
		}
	}
}

func TestNullType(t *testing.T) {
	r := NewReader(AppendType(nil, nil, LittleEndian), LittleEndian)
	if got := r.Type(nil); got != nil || r.Err() != nil {
		t.Errorf("%v, %v", got, r.Err())
	}
}

// TestTypeNumbers checks that numbers can replace types, also within structures, and that a
// number can be assigned again.
func TestTypeNumbers(t *testing.T) {
	var known Types
	point := NewStruct("point", "x", Of(Float64))
	b := AppendType([]byte{typeFull, 7, 0}, point, LittleEndian)
	b = append(b, typeID, 7, 0)
	b = append(b, byte(Struct), 0, 2, 1, 'p', typeID, 7, 0, 1, 'q', byte(Struct|Array), typeID, 7, 0)
	b = append(b, typeFull, 7, 0, byte(Int32), typeID, 7, 0)
	r := NewReader(b, LittleEndian)
	for i, want := range []*Type{point, point, NewStruct("", "p", point, "q", ArrayOf(point)), Of(Int32), Of(Int32)} {
		if got := r.Type(&known); !got.Equal(want) {
			t.Fatalf("type %d is decoded as %+v, %v", i, got, r.Err())
		}
	}
	if known.size != Of(Int32).size {
		t.Errorf("the known types have %d bytes", known.size)
	}
	for name, b := range map[string][]byte{
		"unknown number":  {typeID, 8, 0},
		"number of null":  {typeFull, 8, 0, byte(Null)},
		"array of others": {byte(Struct | Array), typeID, 7, 0},
	} {
		r := NewReader(b, LittleEndian)
		if got := r.Type(&known); got != nil || r.Err() == nil {
			t.Errorf("%s is accepted as %+v", name, got)
		}
	}
	for _, b := range [][]byte{{typeID, 7, 0}, {typeFull, 7, 0, byte(Int32)}} {
		r := NewReader(b, LittleEndian)
		if r.Type(nil); r.Err() == nil {
			t.Errorf("% x is accepted although numbers are not allowed", b)
		}
	}
}

func TestBytesThatAreNoType(t *testing.T) {
	for _, b := range [][]byte{
		{0x01}, {0x41}, {0x44}, {0x61}, {0x84}, {0xa0}, {0xe0}, {0xfc, 1, 0, 0}, {0xfb},
		{byte(Struct | BoundedArray), 3}, {byte(Union | FixedArray), 3}, {byte(Any | BoundedArray), 3}, {byte(BoundedString | Array), 3},
		{byte(Struct | Array), byte(Int32)}, {byte(Struct | Array), byte(Union), 0, 0}, {byte(Union | Array), byte(Null)},
		{byte(Struct), 0, 1, 1, 'a', byte(Null)},
	} {
		r := NewReader(append(b, 0, 0, 0, 0), LittleEndian)
		if got := r.Type(new(Types)); got != nil || r.Err() == nil {
			t.Errorf("% x is accepted as %+v", b, got)
		}
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		path   string
		number int
		code   Code
	}{
		{"value", 1, Int8 | Array}, {"timeStamp", 4, Struct}, {"timeStamp.userTag", 7, Int32}, {"alarm", 8, Struct},
		{"alarm.message", 11, String}, {"valueUnion", 12, Union}, {"variantUnion", 13, Any},
	} {
		f, n := specType.Find(c.path)
		if f == nil || n != c.number || f.Code != c.code {
			t.Errorf("Find(%q) = %+v, number %d", c.path, f, n)
		}
	}
	for _, path := range []string{"", "alarm.", "alarm.none", "value.none", "valueUnion.intValue", "none"} {
		if f, n := specType.Find(path); f != nil || n != 0 {
			t.Errorf("Find(%q) = %+v, number %d", path, f, n)
		}
	}
	if specType.Fields() != 14 {
		t.Errorf("the type has %d fields", specType.Fields())
	}
}

func TestEqual(t *testing.T) {
	point := NewStruct("point", "x", Of(Float64))
	for _, o := range []*Type{
		nil, Of(Float64), NewStruct("", "x", Of(Float64)), NewStruct("point", "y", Of(Float64)), NewStruct("point", "x", Of(Float32)),
		NewStruct("point"), NewUnion("point", "x", Of(Float64)), ArrayOf(point),
	} {
		if point.Equal(o) || o.Equal(point) {
			t.Errorf("%+v equals %+v", o, point)
		}
	}
	if Sized(Int8|BoundedArray, 3).Equal(Sized(Int8|BoundedArray, 4)) || !(*Type)(nil).Equal(nil) {
		t.Error("Equal ignores bounds, or nil is not equal to nil")
	}
}

func TestCodeNames(t *testing.T) {
	for c, want := range map[Code]string{
		Float64: "double", UInt16 | Array: "ushort[]", Struct | Array: "structure[]", Int8 | FixedArray: "byte[]", Null: "null", 0x61: "type(0x61)",
	} {
		if c.String() != want {
			t.Errorf("%02x is %s, want %s", uint8(c), c, want)
		}
	}
}

func TestBugsPanic(t *testing.T) {
	deep := Of(Int32)
	for name, make := range map[string]func(){
		"no members": func() { Of(Struct) },
		"no bound":   func() { Of(Int8 | FixedArray) },
		"too deep": func() {
			for range maxDepth {
				deep = NewStruct("", "m", deep)
			}
		},
	} {
		func() {
			defer func() {
				if s, _ := recover().(string); !strings.HasPrefix(s, "BUG: ") {
					t.Errorf("%s: %q", name, s)
				}
			}()
			make()
		}()
	}
}

// TestAppendTypeAppends checks that AppendType keeps the bytes before the type.
func TestAppendTypeAppends(t *testing.T) {
	if b := AppendType([]byte("x"), Of(Int8), BigEndian); !bytes.Equal(b, []byte{'x', byte(Int8)}) {
		t.Errorf("got % x", b)
	}
}
