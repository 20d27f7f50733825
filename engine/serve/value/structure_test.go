package value

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
)

// stored returns a structure in its stored form: the type, and then the fields one after
// another.
func stored(t *proto.Type, fields ...string) []byte {
	b := proto.AppendType(nil, t, proto.LittleEndian)
	for _, f := range fields {
		b = append(b, f...)
	}
	return b
}

func text(f *Format, b []byte) string {
	return string(f.Append(nil, one(sample.Struct, sample.Sample{Bytes: b}), 0))
}

func le64(v float64) string {
	return string(proto.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
}

var (
	alarm = proto.NewStruct("alarm_t", "severity", proto.Of(proto.Int32), "status", proto.Of(proto.Int32), "message", proto.Of(proto.String))
	stamp = proto.NewStruct("time_t", "secondsPastEpoch", proto.Of(proto.Int64), "nanoseconds", proto.Of(proto.Int32), "userTag", proto.Of(proto.Int32))

	noAlarm = strings.Repeat("\x00", 9)
	noTime  = strings.Repeat("\x00", 16)
)

func TestTable(t *testing.T) {
	table := proto.NewStruct("epics:nt/NTTable:1.0",
		"labels", proto.Of(proto.String|proto.Array),
		"value", proto.NewStruct("", "name", proto.Of(proto.String|proto.Array), "x", proto.Of(proto.Float64|proto.Array), "on", proto.Of(proto.Bool|proto.Array)),
		"alarm", alarm, "timeStamp", stamp)
	got := text(&Quoted, stored(table, "\x03\x04Name\x01X\x02On", "\x02\x02Q1\x02Q2", "\x02"+le64(1)+le64(math.NaN()), "\x02\x01\x00",
		"\x02\x00\x00\x00\x01\x00\x00\x00\x04HIHI", noTime))
	want := `{"labels":["Name","X","On"],"value":{"name":["Q1","Q2"],"x":[1.0,"NaN"],"on":[true,false]},` +
		`"alarm":{"severity":2,"status":1,"message":"HIHI"},"timeStamp":{"secondsPastEpoch":0,"nanoseconds":0,"userTag":0}}`
	if got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

func TestImage(t *testing.T) {
	pixels := proto.NewUnion("", "byteValue", proto.Of(proto.Int8|proto.Array), "ushortValue", proto.Of(proto.UInt16|proto.Array))
	image := proto.NewStruct("epics:nt/NTNDArray:1.0",
		"value", pixels,
		"codec", proto.NewStruct("codec_t", "name", proto.Of(proto.String), "parameters", proto.Of(proto.Any)),
		"compressedSize", proto.Of(proto.Int64),
		"dimension", proto.ArrayOf(proto.NewStruct("dimension_t", "size", proto.Of(proto.Int32), "reverse", proto.Of(proto.Bool))),
		"attribute", proto.ArrayOf(proto.NewStruct("epics:nt/NTAttribute:1.0", "name", proto.Of(proto.String), "value", proto.Of(proto.Any))))
	got := text(&Numbers, stored(image, "\x01\x03\x01\x00\x02\x00\xff\xff", "\x00\xff", "\x06\x00\x00\x00\x00\x00\x00\x00",
		"\x02\x01\x03\x00\x00\x00\x01\x00", "\x02\x01\x04Gain\x43"+le64(2.5)+"\x01\x05Notes\xff"))
	want := `{"value":[1,2,65535],"codec":{"name":"","parameters":null},"compressedSize":6,"dimension":[{"size":3,"reverse":true},null],` +
		`"attribute":[{"name":"Gain","value":2.5},{"name":"Notes","value":null}]}`
	if got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

// TestNumbersInStructures checks that numbers in structures have the same text as numbers of
// samples in the same format.
func TestNumbersInStructures(t *testing.T) {
	for _, c := range []struct {
		code  proto.Code
		value string
		want  string
	}{
		{proto.Bool, "\x01", "true"}, {proto.Int8, "\xff", "-1"}, {proto.UInt8, "\xff", "255"}, {proto.Int16, "\xfe\xff", "-2"},
		{proto.UInt16, "\xfe\xff", "65534"}, {proto.Int32, "\xfd\xff\xff\xff", "-3"}, {proto.UInt32, "\xfd\xff\xff\xff", "4294967293"},
		{proto.Int64, "\xff\xff\xff\xff\xff\xff\xff\xff", "-1"}, {proto.UInt64, "\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"},
		{proto.Float32, "\xcd\xcc\xcc\x3d", "0.1"}, {proto.Float64, le64(3), "3.0"}, {proto.Float64, le64(math.Inf(-1)), "-1e999"},
		{proto.String, "\x03a\"b", `"a\"b"`}, {proto.Any, "\x20\x05", "5"}, {proto.Any, "\xff", "null"},
	} {
		typ := proto.NewStruct("", "v", proto.Of(c.code), "w", proto.Of(proto.Int8))
		if got, want := text(&Numbers, stored(typ, c.value, "\x07")), `{"v":`+c.want+`,"w":7}`; got != want {
			t.Errorf("%v is %s, want %s", c.code, got, want)
		}
		list := proto.NewStruct("", "v", proto.Of(c.code|proto.Array))
		element := c.value
		if c.code == proto.Any {
			element = "\x01" + element
		}
		if got, want := text(&Numbers, stored(list, "\x02", element, element)), `{"v":[`+c.want+`,`+c.want+`]}`; got != want {
			t.Errorf("%v[] is %s, want %s", c.code, got, want)
		}
	}
}

func TestEmptyStructures(t *testing.T) {
	typ := proto.NewStruct("", "e", proto.NewStruct(""), "n", proto.Of(proto.Int8|proto.Array), "s", proto.ArrayOf(alarm), "\"", proto.Of(proto.Int8))
	if got, want := text(&Text, stored(typ, "\x00\x00\x00")), `{"e":{},"n":[],"s":[],"\"":0}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestBrokenStructures checks that bytes that are not a structure are readable in base64.
func TestBrokenStructures(t *testing.T) {
	whole := stored(alarm, noAlarm)
	for cut := range whole {
		if got := text(&Numbers, whole[:cut]); !strings.HasPrefix(got, `"`) || !json.Valid([]byte(got)) {
			t.Errorf("%d of %d bytes are written as %s", cut, len(whole), got)
		}
	}
}

// FuzzStructure checks that the text of any stored bytes is valid JSON of bounded length.
func FuzzStructure(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	typ := proto.NewStruct("all", "alarm", alarm, "any", proto.Of(proto.Any), "list", proto.ArrayOf(proto.NewUnion("", "t", stamp, "s", proto.Of(proto.String))),
		"numbers", proto.Of(proto.Float32|proto.Array), "bools", proto.Of(proto.Bool|proto.Array))
	for range 10 {
		b := stored(typ, noAlarm, "\x43"+le64(rng.NormFloat64()), "\x02\x00\x01\x01\x01°", "\x01\x00\x00\x80\x7f", "\x02\x01\x00")
		f.Add(b)
		b[rng.IntN(len(b))]++
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := text(&Numbers, b)
		if !json.Valid([]byte(got)) {
			t.Fatalf("%x is %s", b, got)
		}
		if most := 8 * (1<<20 + 64*len(b)); len(got) > most {
			t.Fatalf("%d bytes are written as %d bytes, more than %d", len(b), len(got), most)
		}
	})
}

func BenchmarkStructure(b *testing.B) {
	typ := proto.NewStruct("epics:nt/NTScalarArray:1.0", "value", proto.Of(proto.Int16|proto.Array), "alarm", alarm, "timeStamp", stamp)
	v := stored(typ, string(proto.AppendSize(nil, 1000, proto.LittleEndian)), strings.Repeat("\x10\x27", 1000), noAlarm, noTime)
	run := one(sample.Struct, sample.Sample{Bytes: v})
	b.SetBytes(int64(len(v)))
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		dst = Quoted.Append(dst[:0], run, 0)
	}
}
