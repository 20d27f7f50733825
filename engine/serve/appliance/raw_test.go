package appliance

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
)

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// encode returns the encoded answer for runs of one PV.
func encode(e encoder, s *series, runs ...*sample.Run) []byte {
	dst := e.begin(nil)
	for i, r := range runs {
		if i == 0 {
			dst = e.open(dst, s, r)
		}
		dst = e.samples(dst, r)
	}
	if len(runs) == 0 {
		dst = e.open(dst, s, nil)
	}
	return e.end(dst)
}

func floats(from int64, values ...float64) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for i, v := range values {
		r.Append(&sample.Sample{Time: from + int64(i)*1e9, Word: math.Float64bits(v)})
	}
	return r
}

func parse(t *testing.T, body []byte) []pbChunk {
	t.Helper()
	chunks, err := parseRaw(body)
	if err != nil {
		t.Fatal(err)
	}
	return chunks
}

func TestRawGolden(t *testing.T) {
	s := &series{name: "PV", headers: []header{{"EGU", "V"}, {"PREC", "3"}, {"DESC", ""}}}
	r := floats(newYear+25, 1)
	r.Append(&sample.Sample{Time: newYear + 10e9 + 27, Tag: sample.MakeTag(sample.Major, 3), Word: math.Float64bits(-2)})
	want := "0806" + "12025056" + "2001" + "7a08" + "1b0203454755" + "120156" + "7a09" + "1b020450524543" + "120133" + "18ea0f" + "0a" +
		"0800" + "1019" + "19000000000000f03f" + "0a" +
		"081b02" + "101b01" + "1900000000000000c0" + "2002" + "2803" + "0a"
	if got := hex.EncodeToString(encode(&rawEncoder{}, s, r)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestRawTypes checks that each type becomes one of the Appliance's types and keeps its
// values.
func TestRawTypes(t *testing.T) {
	const minus = math.MaxUint64 - 2 // -3 as a word
	le64 := func(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }
	for _, c := range []struct {
		typ  sample.Type
		in   sample.Sample
		want int // payload type
		ok   func(v []pbField) bool
	}{
		{sample.Bool, sample.Sample{Word: 1}, 4, func(v []pbField) bool { return string(v[0].b) == "\x01" }},
		{sample.Int8, sample.Sample{Word: minus}, 4, func(v []pbField) bool { return string(v[0].b) == "\xfd" }},
		{sample.Int16, sample.Sample{Word: minus}, 1, func(v []pbField) bool { return v[0].wire == 0 && sint(v[0].v) == -3 }},
		{sample.Uint16, sample.Sample{Word: 65535}, 5, func(v []pbField) bool { return v[0].wire == 5 && v[0].v == 65535 }},
		{sample.Int32, sample.Sample{Word: minus}, 5, func(v []pbField) bool { return int32(v[0].v) == -3 }},
		{sample.Uint32, sample.Sample{Word: math.MaxUint32}, 6, func(v []pbField) bool { return math.Float64frombits(v[0].v) == math.MaxUint32 }},
		{sample.Int64, sample.Sample{Word: minus}, 6, func(v []pbField) bool { return math.Float64frombits(v[0].v) == -3 }},
		{sample.Float32, sample.Sample{Word: uint64(math.Float32bits(0.1))}, 2, func(v []pbField) bool { return v[0].wire == 5 && math.Float32frombits(uint32(v[0].v)) == 0.1 }},
		{sample.Float64, sample.Sample{Word: math.Float64bits(math.NaN())}, 6, func(v []pbField) bool { return v[0].v == math.Float64bits(math.NaN()) }},
		{sample.Enum, sample.Sample{Word: 5}, 3, func(v []pbField) bool { return sint(v[0].v) == 5 }},
		{sample.String, sample.Sample{Bytes: []byte("line\n\r\x1b\xb0")}, 0, func(v []pbField) bool { return string(v[0].b) == "line\n\r\x1b\uFFFD" }},
		{sample.Struct, sample.Sample{Bytes: []byte{0xfd, 0}}, 14, func(v []pbField) bool { return string(v[0].b) == "\xfd\x00" }},
		{sample.String.Array(), sample.Sample{Bytes: sample.AppendStrings(nil, "a", "", "b")}, 7, func(v []pbField) bool { return len(v) == 3 && string(v[2].b) == "b" }},
		{sample.Int16.Array(), sample.Sample{Bytes: []byte{0xfd, 0xff, 100, 0}}, 8, func(v []pbField) bool { return slices.Equal(v[0].b, []byte{5, 200, 1}) }},
		{sample.Float32.Array(), sample.Sample{Bytes: []byte{0, 0, 128, 63}}, 9, func(v []pbField) bool { return slices.Equal(v[0].b, []byte{0, 0, 128, 63}) }},
		{sample.Enum.Array(), sample.Sample{Bytes: []byte{1, 0}}, 10, func(v []pbField) bool { return slices.Equal(v[0].b, []byte{2}) }},
		{sample.Uint8.Array(), sample.Sample{Bytes: []byte("ab\n")}, 11, func(v []pbField) bool { return string(v[0].b) == "ab\n" }},
		{sample.Uint16.Array(), sample.Sample{Bytes: []byte{255, 255}}, 12, func(v []pbField) bool { return slices.Equal(v[0].b, []byte{255, 255, 0, 0}) }},
		{sample.Int64.Array(), sample.Sample{Bytes: []byte{2, 0, 0, 0, 0, 0, 0, 0}}, 13, func(v []pbField) bool { return slices.Equal(v[0].b, le64(2)) }},
		{sample.Float64.Array(), sample.Sample{}, 13, func(v []pbField) bool { return len(v[0].b) == 0 }},
	} {
		c.in.Time = newYear
		r := &sample.Run{Type: c.typ}
		r.Append(&c.in)
		got := parse(t, encode(&rawEncoder{}, &series{name: "X"}, r))
		if len(got) != 1 || got[0].typ != c.want || len(got[0].samples) != 1 || !c.ok(got[0].samples[0].vals) {
			t.Errorf("%v is encoded as %+v", c.typ, got)
		}
	}
}

// TestRawChunks checks that a chunk has samples of one year and one type.
func TestRawChunks(t *testing.T) {
	eve := floats(newYear-1e8, 1, 2) // 23:59:59.9 and 00:00:00.9
	words := &sample.Run{Type: sample.Int32}
	words.Append(&sample.Sample{Time: newYear + 5e9, Word: 7})
	got := parse(t, encode(&rawEncoder{}, &series{name: "X"}, floats(newYear-400*86400e9, 0), eve, words, floats(newYear+6e9, 3)))
	type brief struct{ typ, year, n int }
	var briefs []brief
	var times []int64
	for _, c := range got {
		briefs = append(briefs, brief{c.typ, c.year, len(c.samples)})
		for _, s := range c.samples {
			times = append(times, s.time)
		}
	}
	if want := []brief{{6, 2024, 1}, {6, 2025, 1}, {6, 2026, 1}, {5, 2026, 1}, {6, 2026, 1}}; !slices.Equal(briefs, want) {
		t.Errorf("chunks are %v, want %v", briefs, want)
	}
	if want := []int64{newYear - 400*86400e9, newYear - 1e8, newYear + 9e8, newYear + 5e9, newYear + 6e9}; !slices.Equal(times, want) {
		t.Errorf("times are %v, want %v", times, want)
	}
}

// TestRawLinesSurviveStripping checks that clients can strip white space from lines without
// damaging a message.
func TestRawLinesSurviveStripping(t *testing.T) {
	r := &sample.Run{Type: sample.Int16}
	for v := range uint64(40) {
		r.Append(&sample.Sample{Time: newYear + int64(v), Tag: sample.MakeTag(0, uint16(v)*5%33), Word: v})
	}
	chunks := parse(t, encode(&rawEncoder{}, &series{name: "X"}, r))
	for v, s := range chunks[0].samples {
		if sint(s.vals[0].v) != int64(v) || s.status != v*5%33 {
			t.Errorf("value %d with status %d is decoded as %+v", v, v*5%33, s)
		}
	}
	for count := range 40 {
		s := &sample.Run{Type: sample.Uint8.Array()}
		s.Append(&sample.Sample{Time: newYear, Bytes: make([]byte, count)})
		if got := parse(t, encode(&rawEncoder{}, &series{name: "X"}, s)); got[0].count != count {
			t.Errorf("element count %d is decoded as %d", count, got[0].count)
		}
	}
}

func TestRawWithoutSamples(t *testing.T) {
	got := parse(t, encode(&rawEncoder{}, &series{name: "X", from: newYear - 1, typ: sample.Float64.Array(), count: 9}))
	if len(got) != 1 || got[0].pv != "X" || got[0].year != 2025 || got[0].typ != 13 || got[0].count != 9 || len(got[0].samples) > 0 {
		t.Errorf("got %+v", got)
	}
}

// TestNeedsEscapesFindsEachByte checks every byte at every place of messages of several lengths.
func TestNeedsEscapesFindsEachByte(t *testing.T) {
	for _, rest := range []byte{0, 0x09, 0x0b, 0x80, 0xff} {
		for n := 1; n <= 25; n++ {
			msg := bytes.Repeat([]byte{rest}, n)
			for i := range msg {
				for c := range 256 {
					msg[i] = byte(c)
					escaped := len(appendEscaped(nil, msg)) > n
					if got := needsEscapes(msg); got != escaped {
						t.Fatalf("message %x needs escapes: %v, want %v", msg, got, escaped)
					}
				}
				msg[i] = rest
			}
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	r := floats(newYear, make([]float64, 4096)...)
	for i := range r.Words {
		r.Words[i] = math.Float64bits(float64(i) * 0.1)
	}
	for ext, f := range formats {
		if ext == "mat" {
			continue // it holds all samples
		}
		b.Run(ext, func(b *testing.B) {
			e := f.encoder(&dataQuery{to: 1})
			dst := e.open(e.begin(nil), &series{name: "X"}, r)
			dst = e.samples(dst, r)
			b.ReportAllocs()
			for b.Loop() {
				dst = e.samples(dst[:0], r)
			}
			b.SetBytes(int64(len(dst)))
			b.ReportMetric(float64(b.N)*4096/b.Elapsed().Seconds()/1e6, "Msamples/s")
		})
	}
}

// TestEncodeDoesNotAllocate checks that encoding allocates no memory except for the buffer,
// regardless of the number of samples.
func TestEncodeDoesNotAllocate(t *testing.T) {
	r := floats(newYear, make([]float64, 1000)...)
	for ext, f := range formats {
		if ext == "mat" {
			continue // it holds all samples
		}
		e := f.encoder(&dataQuery{to: 1})
		dst := e.samples(e.open(e.begin(nil), &series{name: "X"}, r), r)
		if n := testing.AllocsPerRun(10, func() { dst = e.samples(dst[:0], r) }); n > 0 {
			t.Errorf("%s: %v allocations for 1000 samples", ext, n)
		}
	}
}

// TestRawFieldsOfChanges checks that the first sample after a change of metadata carries the
// new values, also in a new year and after several changes between two samples.
func TestRawFieldsOfChanges(t *testing.T) {
	s := &series{name: "PV"}
	for _, c := range []change{
		{newYear - 2e9, 0, []header{{"EGU", "A"}}}, {newYear - 1e9, 0, []header{{"EGU", "mA"}, {"DESC", ""}}}, {newYear + 1e9, 0, []header{{"HIHI", "\t\n"}}},
	} {
		s.changes.add(c)
	}
	chunks := parse(t, encode(&rawEncoder{}, s, floats(newYear-3e9, 1), floats(newYear, 2, 3, 4)))
	if len(chunks) != 2 || len(chunks[1].samples) != 3 {
		t.Fatalf("the answer has %d chunks", len(chunks))
	}
	for i, want := range []map[string]string{nil, {"EGU": "mA", "DESC": ""}, {"HIHI": "\t\n"}, nil} {
		got := append(chunks[0].samples, chunks[1].samples...)[i]
		if !maps.Equal(got.fields, want) || got.changed != (want != nil) {
			t.Errorf("sample %d carries %q, change %v; want %q", i, got.fields, got.changed, want)
		}
	}
}
