package pebble

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

func TestKeysSortAsWhatTheyStandFor(t *testing.T) {
	var keys [][]byte
	for _, bucket := range []store.Bucket{store.Day.Of(math.MinInt64), store.Day.Of(-1), store.Day.Of(0), store.Day.Of(math.MaxInt64)} {
		for _, start := range []int64{math.MinInt64, -1 << 40, -1, 0, 1, 255, 256, math.MaxInt64} {
			for _, w := range []store.WriterID{{}, {1}, {0xff}} {
				for _, n := range []uint32{0, 1, 256, math.MaxUint32} {
					keys = append(keys, blockKey(tableHeader, &store.BlockKey{PV: "a", Bucket: bucket, Start: start, Writer: w, N: n}))
				}
			}
		}
	}
	if !slices.IsSortedFunc(keys, bytes.Compare) {
		t.Error("keys of blocks are not in order")
	}
}

func TestNoKeyBeginsWithThatOfAnotherPV(t *testing.T) {
	names := []string{"", "a", "ab", "a\x00", "a\x00b", "\xff", "\xff\xff", "b"}
	for _, a := range names {
		for _, b := range names {
			if a != b && bytes.HasPrefix(metadataKey(b, 0), pvKey(tableMetadata, a)) {
				t.Errorf("a scan of PV %q finds a key of PV %q", a, b)
			}
		}
		if pv, rest, ok := pvOf(append(pvKey(tableChannel, a), 7)); pv != a || len(rest) != 1 || !ok {
			t.Errorf("the key of PV %q decodes as PV %q, %v", a, pv, ok)
		}
	}
}

func TestAfterIsTheLeastGreaterKey(t *testing.T) {
	for prefix, want := range map[string]string{"a": "b", "a\x00": "a\x01", "a\xff": "b", "a\xff\xff": "b", "ab\xfe": "ab\xff"} {
		if got := string(after([]byte(prefix))); got != want {
			t.Errorf("after(%q) = %q, want %q", prefix, got, want)
		}
	}
}

// TestTruncatedValuesAreRefused checks that truncated values are refused. There are two
// exceptions: values that end with a variable number of bytes, and values that are truncated
// to the length of an earlier version.
func TestTruncatedValuesAreRefused(t *testing.T) {
	m := sample.Metadata{Units: "mA", Labels: []string{"a"}, Host: "h", Properties: []sample.Property{{Name: "DESC", Value: "d"}}}
	for what, test := range map[string]struct {
		value  []byte
		decode func([]byte) error
		older  int // length of the value in an earlier version; 0 if there is none
	}{
		"claim":    {appendClaim(nil, &store.Claim{Epoch: 1, Closed: true}), func(v []byte) error { return decodeClaim(&store.Claim{}, v) }, 33},
		"header":   {appendHeader(nil, &store.Block{End: 1}), func(v []byte) error { return decodeHeader(&store.Block{}, v) }, 0},
		"metadata": {appendMetadata(nil, &m), func(v []byte) error { return decodeMetadata(&sample.Metadata{}, v) }, 0},
	} {
		if err := test.decode(test.value); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for n := range test.value {
			if err := test.decode(test.value[:n]); err == nil && n != test.older {
				t.Errorf("%s cut to %d bytes is accepted", what, n)
			}
		}
	}
}

// FuzzValues decodes any bytes as each kind of value. An accepted value must stay the same
// after it is encoded and decoded again.
func FuzzValues(f *testing.F) {
	f.Add(appendClaim(nil, &store.Claim{Epoch: 3, Since: -1, Closed: true, Last: store.At(1, 2)}))
	f.Add(appendRow(nil, &store.JournalRow{Index: []byte("index"), Blob: []byte("blob")}))
	f.Add(appendHeader(nil, &store.Block{End: -5, Count: 7, Type: sample.Enum, Min: math.NaN()}))
	f.Add(appendMark(nil, &sample.Mark{End: 9, Count: 3, Text: "why"}))
	f.Add(appendMetadata(nil, &sample.Metadata{Units: "V", Labels: []string{"off", ""}, Precision: -1, Count: 1}))
	f.Add(appendMetadata(nil, &sample.Metadata{Units: "V", Properties: []sample.Property{{Name: "DESC", Value: ""}}}))
	f.Add(withoutProperties(&sample.Metadata{Units: "V", Labels: []string{"off", ""}}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, v []byte) {
		again(t, v, decodeClaim, appendClaim)
		again(t, v, decodeRow, appendRow)
		again(t, v, decodeHeader, appendHeader)
		again(t, v, decodeMarkValue, appendMark)
		again(t, v, decodeMetadata, appendMetadata)
		if pv, rest, ok := pvOf(v); ok && len(pv)+len(rest)+5 != len(v) {
			t.Errorf("a key of %[3]d bytes has a name of %[1]d and a rest of %[2]d bytes", len(pv), len(rest), len(v))
		}
	})
}

// FuzzMarks decodes any entry as a mark. Its bounds must be in order, and the mark must stay the same after it
// is encoded and decoded again.
func FuzzMarks(f *testing.F) {
	for _, m := range []sample.Mark{{Time: 10, End: -20}, {Time: 10, End: 20}, {Time: 10}, {End: -5}, {Time: -1}} {
		m.Kind, m.Reason = sample.Lost, sample.Overrun
		old := store.PVMark{PV: "A", Mark: m} // an earlier version kept the order
		f.Add(markKey(&old)[len(pvKey(tableMark, "A")):], appendMark(nil, &m))
	}
	f.Fuzz(func(t *testing.T, tail, value []byte) {
		first, second := store.PVMark{PV: "A"}, store.PVMark{PV: "A"}
		if decodeMark(&first, tail, value) != nil {
			return
		}
		if first.End != 0 && first.End < first.Time {
			t.Errorf("the mark ends at %d and begins at %d", first.End, first.Time)
		}
		key, value := encodeMark(first)
		if err := decodeMark(&second, key[len(pvKey(tableMark, "A")):], value); err != nil || first != second {
			t.Errorf("%+v becomes %+v: %v", first, second, err)
		}
	})
}

func again[T any](t *testing.T, v []byte, decode func(*T, []byte) error, encode func([]byte, *T) []byte) {
	t.Helper()
	var first, second T
	if decode(&first, v) != nil {
		return
	}
	if err := decode(&second, encode(nil, &first)); err != nil {
		t.Errorf("a %T that was decoded and encoded cannot be decoded again: %v", first, err)
	}
	if diff := cmp.Diff(first, second, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("encoding and decoding changes a %T (-before +after):\n%s", first, diff)
	}
}

// withoutProperties encodes metadata as version 1 did.
func withoutProperties(m *sample.Metadata) []byte {
	v := []byte{byte(m.Type)}
	v = binary.AppendVarint(v, int64(m.Count))
	v = binary.AppendVarint(v, int64(m.Precision))
	for _, limit := range m.Limits() {
		v = appendFloat(v, limit)
	}
	v = appendString(appendString(v, m.Units), m.Host)
	for _, label := range m.Labels {
		v = appendString(v, label)
	}
	return v
}

func TestMetadataOfVersion1(t *testing.T) {
	want := sample.Metadata{Type: sample.Enum, Count: 1, Precision: 3, Units: "mA", Host: "ioc1", Labels: []string{"off", "on"}}
	var got sample.Metadata
	if err := decodeMetadata(&got, withoutProperties(&want)); err != nil || !got.Equal(&want) || got.Host != want.Host {
		t.Errorf("got %+v, %v", got, err)
	}
}
