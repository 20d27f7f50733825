package appliance

import (
	"encoding/json"
	"math"
	"testing"

	"varve.dev/varve/engine/sample"
)

func strs(values ...string) *sample.Run {
	r := &sample.Run{Type: sample.String}
	for i, v := range values {
		r.Append(&sample.Sample{Time: newYear + int64(i), Tag: sample.MakeTag(sample.Invalid, 17), Bytes: []byte(v)})
	}
	return r
}

func waveform() *sample.Run {
	r := &sample.Run{Type: sample.Int16.Array()}
	r.Append(&sample.Sample{Time: newYear, Bytes: []byte{1, 0, 2, 0}})
	return r
}

func TestJSONGolden(t *testing.T) {
	s := &series{name: "A:\"B\"", headers: []header{{"EGU", "°C"}, {"PREC", "3"}, {"DESC", ""}, {"ENUM_0", "Off"}}}
	for _, c := range []struct {
		enc  *jsonEncoder
		runs []*sample.Run
		want string
	}{
		{&jsonEncoder{}, nil, "[]\n"},
		{&jsonEncoder{}, []*sample.Run{floats(newYear-1e8, 1, math.NaN()), strs("x\"y")}, `[{"meta":{"name":"A:\"B\"","EGU":"°C","PREC":"3","ENUM_0":"Off"},
"data":[
{"secs":1767225599,"val":1.0,"nanos":900000000,"severity":0,"status":0},
{"secs":1767225600,"val":null,"nanos":900000000,"severity":0,"status":0},
{"secs":1767225600,"val":"x\"y","nanos":0,"severity":3,"status":17}
]}]
`},
		{&jsonEncoder{quick: true}, []*sample.Run{waveform()}, `[{"meta":{"name":"A:\"B\"","waveform":true,"EGU":"°C","PREC":"3","ENUM_0":"Off"},
"data":[
{"millis":1767225600000,"val":[1,2]}
]}]
`},
	} {
		got := encode(c.enc, s, c.runs...)
		if string(got) != c.want {
			t.Errorf("got\n%swant\n%s", got, c.want)
		}
		if !json.Valid(got) {
			t.Errorf("the answer is not valid JSON: %s", got)
		}
	}
}

// TestJSONOfSeveralPVs checks that an answer for several PVs leaves out the PVs without
// samples.
func TestJSONOfSeveralPVs(t *testing.T) {
	e := &jsonEncoder{}
	dst := e.begin(nil)
	for _, name := range []string{"A", "none", "B"} {
		r := floats(newYear, 1)
		if name == "none" {
			dst = e.open(dst, &series{name: name}, nil)
			continue
		}
		dst = e.samples(e.open(dst, &series{name: name}, r), r)
	}
	var got []struct {
		Meta struct{ Name string }
		Data []struct{ Val float64 }
	}
	if err := json.Unmarshal(e.end(dst), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Meta.Name != "A" || got[1].Meta.Name != "B" || len(got[1].Data) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestCSVGolden(t *testing.T) {
	want := "1767225600,1.5,0,0,25\n" +
		"1767225601,Infinity,0,0,25\n" +
		"1767225600,plain,3,17,0\n" +
		"1767225600,\"a,\"\"b\"\"\",3,17,1\n" +
		"1767225600,\"[1,2]\",0,0,0\n"
	got := encode(csvEncoder{}, &series{}, floats(newYear+25, 1.5, math.Inf(1)), strs("plain", `a,"b"`), waveform())
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTextGolden(t *testing.T) {
	want := "Beginning data for X\nJan/01/2026 00:00:00 UTC\t1.5\t0\t0\t25\n"
	if got := encode(txtEncoder{}, &series{name: "X"}, floats(newYear+25, 1.5)); string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestSplit checks that nanoseconds count upwards, also before 1970.
func TestSplit(t *testing.T) {
	for ns, want := range map[int64][2]int64{0: {0, 0}, 1500000000: {1, 5e8}, -1: {-1, 999999999}, -1e9: {-1, 0}, -1500000000: {-2, 5e8}} {
		if s, n := split(ns); [2]int64{s, n} != want {
			t.Errorf("split(%d) returns %d, %d", ns, s, n)
		}
	}
}
