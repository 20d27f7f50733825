package proto

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cost returns the number of bytes that f allocates on the heap. The test fails if f takes too much
// time of the processors. The time on a clock depends on what else the machine does.
func cost(t *testing.T, f func()) int {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := processorTime(t)
	f()
	if took := processorTime(t) - start; took > 10*time.Second {
		t.Errorf("the function takes %v of the processors' time", took)
	}
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// processorTime returns the time that the process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func nested(depth int, inner ...byte) (b []byte) {
	for range depth {
		b = append(b, byte(Struct), 0, 1, 1, 'm')
	}
	return append(b, inner...)
}

func TestTypesNestNoDeeperThanTheBound(t *testing.T) {
	for _, c := range []struct {
		depth int
		err   error
	}{{maxDepth - 1, nil}, {maxDepth, errTooComplex}, {1 << 20, errTooComplex}} {
		r := NewReader(nested(c.depth, byte(Int8)), LittleEndian)
		if r.Type(nil); !errors.Is(r.Err(), c.err) {
			t.Errorf("depth %d: %v", c.depth, r.Err())
		}
	}
	r := NewReader(bytes.Repeat([]byte{typeFull, 1, 0}, 1<<20), LittleEndian)
	if r.Type(new(Types)); !errors.Is(r.Err(), errTooComplex) {
		t.Errorf("nested numbered types: %v", r.Err())
	}
}

// TestNumberedTypesDoNotGrowWithoutBound reads numbered types. Each number stands for a
// structure with ten members of the previous number's type. Thus about 400 bytes would
// describe 10^15 fields.
func TestNumberedTypesDoNotGrowWithoutBound(t *testing.T) {
	for _, shape := range []Code{0, Array} {
		var known Types
		var err error
		used := cost(t, func() {
			b := []byte{typeFull, 0, 0, byte(Struct), 0, 0}
			for id := byte(1); id < 15; id++ {
				b = append(b, typeFull, id, 0, byte(Struct), 0, 10)
				for range 10 {
					b = append(b, 1, 'm')
					if shape == Array {
						b = append(b, byte(Struct|Array))
					}
					b = append(b, typeID, id-1, 0)
				}
			}
			r := NewReader(b, LittleEndian)
			for r.Len() > 0 {
				r.Type(&known)
			}
			err = r.Err()
		})
		if !errors.Is(err, errTooComplex) || used > 1<<20 {
			t.Errorf("shape %x: got %v, allocated %d bytes", shape, err, used)
		}
	}
}

// TestAnysOfALargeNumberedType reads many Any values of a numbered type with a long name. Each
// canonical Any has the whole type, although its number has only four bytes.
func TestAnysOfALargeNumberedType(t *testing.T) {
	var known Types
	large := NewStruct(strings.Repeat("n", 1<<20), "x", Of(Int8))
	r := NewReader(AppendType([]byte{typeFull, 1, 0}, large, LittleEndian), LittleEndian)
	if r.Type(&known); r.Err() != nil {
		t.Fatal(r.Err())
	}
	const n = 1 << 16
	b := AppendSize(nil, n, LittleEndian)
	b = append(b, bytes.Repeat([]byte{1, typeID, 1, 0, 5}, n)...)
	var out []byte
	r = NewReader(b, LittleEndian)
	out = r.Value(nil, Of(Any|Array), &known)
	if !errors.Is(r.Err(), errTooComplex) || len(out) > len(b)+maxTypes {
		t.Errorf("the canonical form of %[2]d bytes has %[1]d bytes, %[3]v", len(out), len(b), r.Err())
	}
}

func TestHugeCounts(t *testing.T) {
	huge := append([]byte{sizeLong}, le32(maxSize)...)
	for name, b := range map[string][]byte{
		"members":       append([]byte{byte(Struct), 0}, huge...),
		"name":          append([]byte{byte(Struct)}, huge...),
		"fixed array":   append([]byte{byte(Int64 | FixedArray)}, huge...),
		"fixed strings": append([]byte{byte(String | FixedArray)}, huge...),
	} {
		r := NewReader(b, LittleEndian)
		used := cost(t, func() { r.Type(nil) })
		if r.Err() == nil || used > 1<<16 {
			t.Errorf("%s: got %v, allocated %d bytes", name, r.Err(), used)
		}
	}
	point := NewStruct("", "x", Of(Int8))
	for _, typ := range []*Type{
		Of(Int64 | Array), Of(String | Array), Of(String), Of(Any | Array), ArrayOf(point), ArrayOf(NewUnion("", "x", Of(Int8))),
		Sized(Int64|BoundedArray, maxSize), NewUnion("", "x", Of(Int8)),
	} {
		r := NewReader(append(huge[:len(huge):len(huge)], 1, 2, 3), LittleEndian)
		used := cost(t, func() { r.Value(nil, typ, nil) })
		if r.Err() == nil || used > 1<<16 {
			t.Errorf("%v: got %v, allocated %d bytes", typ.Code, r.Err(), used)
		}
	}
	r := NewReader(huge, LittleEndian)
	if used := cost(t, func() { r.BitSet(nil) }); r.Err() == nil || used > 1<<16 {
		t.Errorf("bit set: got %v, allocated %d bytes", r.Err(), used)
	}
}

// TestWideTypes reads a type with many members of two bytes each. The reader must refuse the
// type before it allocates more memory than the limit allows.
func TestWideTypes(t *testing.T) {
	b := []byte{byte(Struct), 0}
	const n = 8 << 20
	b = AppendSize(b, n, LittleEndian)
	b = append(b, make([]byte, 2*n)...) // each member has an empty name and type boolean
	r := NewReader(b, LittleEndian)
	if used := cost(t, func() { r.Type(nil) }); !errors.Is(r.Err(), errTooComplex) || used > 2*maxTypes {
		t.Errorf("got %v, allocated %d bytes", r.Err(), used)
	}
	inner := append(AppendSize([]byte{0, byte(Struct), 0}, 1<<14, LittleEndian), make([]byte, 2<<14)...)
	b = AppendSize([]byte{byte(Struct), 0}, 500, LittleEndian)
	b = append(b, bytes.Repeat(inner, 500)...)
	r = NewReader(b, LittleEndian)
	if used := cost(t, func() { r.Type(nil) }); !errors.Is(r.Err(), errTooComplex) || used > 2*maxTypes {
		t.Errorf("structures: got %v, allocated %d bytes", r.Err(), used)
	}
}

func TestCacheIsBounded(t *testing.T) {
	var known Types
	var err error
	name := strings.Repeat("n", 1<<20)
	for id := byte(0); err == nil && id < 100; id++ {
		r := NewReader(AppendType([]byte{typeFull, id, 0}, NewStruct(name), LittleEndian), LittleEndian)
		r.Type(&known)
		err = r.Err()
	}
	if !errors.Is(err, errCacheFull) || known.size > maxCached {
		t.Errorf("got %v, the known types have %d bytes", err, known.size)
	}
}

// TestHollowStructures reads an array of structures whose members have no bytes. The time for
// each element grows with the number of members of its type, so the reader must refuse the
// array.
func TestHollowStructures(t *testing.T) {
	empty := NewStruct("")
	var members []any
	for range 20000 {
		members = append(members, "", empty)
	}
	typ := ArrayOf(NewStruct("", members...))
	const n = 1 << 20
	b := AppendSize(nil, n, LittleEndian)
	b = append(b, bytes.Repeat([]byte{1}, n)...)
	var err, walked error
	cost(t, func() {
		r := NewReader(b, LittleEndian)
		r.Value(nil, typ, nil)
		err = r.Err()
		walked = Walk(append(AppendType(nil, typ, LittleEndian), b...), func(*Part) {})
	})
	if !errors.Is(err, errTooComplex) || !errors.Is(walked, errTooComplex) {
		t.Errorf("Value: %v, Walk: %v", err, walked)
	}
}

func TestAnysNestNoDeeperThanTheBound(t *testing.T) {
	for _, c := range []struct {
		depth int
		err   error
	}{{maxDepth - 2, nil}, {maxDepth, errTooComplex}, {1 << 20, errTooComplex}} {
		b := append(bytes.Repeat([]byte{byte(Any)}, c.depth), byte(Int8), 5)
		r := NewReader(b, LittleEndian)
		if r.Value(nil, Of(Any), nil); !errors.Is(r.Err(), c.err) {
			t.Errorf("depth %d: %v", c.depth, r.Err())
		}
	}
}

func TestFixedArraysAreBounded(t *testing.T) {
	b := AppendSize([]byte{byte(Int64 | FixedArray)}, maxRoom+1, LittleEndian)
	r := NewReader(b, LittleEndian)
	if r.Type(nil); !errors.Is(r.Err(), errTooComplex) {
		t.Error(r.Err())
	}
	half := Sized(Int64|FixedArray, maxRoom/2)
	if err := (&Type{Code: Struct, Names: []string{"a", "b", "c"}, Members: []*Type{half, half, half}}).measure(); !errors.Is(err, errTooComplex) {
		t.Error(err)
	}
}

// TestLargeStructures checks that large but realistic structures are within the limits: a
// group of a thousand records, and an array of a hundred thousand structures.
func TestLargeStructures(t *testing.T) {
	var members []any
	for range 1000 {
		members = append(members, "SR01C:BPM001:SA:X", ntScalar)
	}
	group := NewStruct("group", members...)
	stored := AppendZero(AppendType(nil, group, LittleEndian), group)
	fields := 0
	if err := Walk(stored, func(*Part) { fields++ }); err != nil || fields < group.Fields() {
		t.Errorf("a group of %d bytes: %d parts, %v", len(stored), fields, err)
	}
	list := ArrayOf(specTime)
	const n = 100000
	b := AppendSize(AppendType(nil, list, LittleEndian), n, LittleEndian)
	b = append(b, bytes.Repeat(append([]byte{1}, make([]byte, 16)...), n)...)
	if err := Walk(b, func(*Part) {}); err != nil {
		t.Errorf("an array of structures: %v", err)
	}
	r := NewReader(b, LittleEndian)
	if r.Value(nil, r.Type(nil), nil); r.Err() != nil {
		t.Errorf("the value of an array of structures: %v", r.Err())
	}
}
