package value

import (
	"encoding/json"
	"math"
	"testing"

	"varve.dev/varve/engine/sample"
)

func one(t sample.Type, s sample.Sample) *sample.Run {
	r := &sample.Run{Type: t}
	r.Append(&s)
	return r
}

func word(t sample.Type, w uint64) *sample.Run   { return one(t, sample.Sample{Word: w}) }
func float(v float64) *sample.Run                { return word(sample.Float64, math.Float64bits(v)) }
func bytes(t sample.Type, b ...byte) *sample.Run { return one(t, sample.Sample{Bytes: b}) }

func TestAppend(t *testing.T) {
	minus := int64(-3)
	for _, c := range []struct {
		run  *sample.Run
		want string
	}{
		{float(3), "3.0"},
		{float(-0.1), "-0.1"},
		{float(1e21), "1e+21"},
		{float(5e-324), "5e-324"},
		{float(math.NaN()), "null"},
		{float(math.Inf(1)), "1e999"},
		{float(math.Inf(-1)), "-1e999"},
		{word(sample.Float32, uint64(math.Float32bits(0.1))), "0.1"},
		{word(sample.Int32, uint64(minus)), "-3"},
		{word(sample.Uint64, math.MaxUint64), "18446744073709551615"},
		{word(sample.Bool, 1), "1"},
		{word(sample.Enum, 4), "4"},
		{bytes(sample.String, []byte("a\"b\\\n\x7f°\xb0C")...), "\"a\\\"b\\\\\\u000a\\u007f°\uFFFDC\""},
		{bytes(sample.String), `""`},
		{bytes(sample.Int16.Array(), 0xff, 0xff, 2, 0), "[-1,2]"},
		{bytes(sample.Uint8.Array(), 200, 1), "[200,1]"},
		{bytes(sample.Float64.Array()), "[]"},
		{bytes(sample.String.Array(), sample.AppendStrings(nil, "x", "y,z")...), `["x","y,z"]`},
		{bytes(sample.Struct, 1, 2, 3), `"AQID"`},
	} {
		got := Numbers.Append(nil, c.run, 0)
		if string(got) != c.want {
			t.Errorf("%v %x is written as %s, want %s", c.run.Type, c.run.Words, got, c.want)
		}
		if !json.Valid(got) {
			t.Errorf("%s is not JSON", got)
		}
	}
	if got := string(Text.Append(nil, float(math.Inf(-1)), 0)); got != "-Infinity" {
		t.Errorf("text is %s", got)
	}
	if got := string(Quoted.Append(nil, float(math.NaN()), 0)); got != `"NaN"` {
		t.Errorf("quoted is %s", got)
	}
}

// FuzzAppendString checks that a JSON parser returns strings unchanged, except for bytes that
// are not UTF-8.
func FuzzAppendString(f *testing.F) {
	f.Add("°C \x00\xff\u2028\"\\")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if err := json.Unmarshal(AppendString(nil, s), &got); err != nil {
			t.Fatal(err)
		}
		if want := string([]rune(s)); got != want {
			t.Errorf("%q is parsed as %q", s, got)
		}
	})
}
