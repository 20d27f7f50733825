package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const jsonAccess = "/archive-access/api/1.0/archive"

// item is an element of an answer with samples.
type item struct {
	Time     int64
	Severity struct {
		Level    string
		HasValue bool
	}
	Status, Quality, Type string
	Value                 []any
	Minimum, Maximum      any
	MetaData              *struct {
		Type   string
		Units  string
		States []string
	}
}

// items returns the samples of a PV from start to end, both in ns after the new year.
func (r *rig) items(pv string, start, end int64, more string) (items []item) {
	r.t.Helper()
	path := fmt.Sprintf("%s/1/samples/%s?start=%d&end=%d%s", jsonAccess, url.PathEscape(pv), newYear+start, newYear+end, more)
	code, text := r.get(path)
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	var loose []map[string]any
	if err := dec.Decode(&loose); err != nil || code != 200 {
		r.t.Fatalf("GET %s returns %d %v\n%s", path, code, err, text)
	}
	r.check(json.Unmarshal([]byte(text), &items))
	return items
}

// show describes items in short: seconds after the new year, value and severity.
func show(items []item) string {
	var parts []string
	for _, it := range items {
		text := fmt.Sprintf("%v=%v", float64(it.Time-newYear)/1e9, it.Value[0])
		if !it.Severity.HasValue {
			text += "!"
		}
		if it.Quality == "Interpolated" {
			text += "~"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func TestJSONAccessAnswers(t *testing.T) {
	r := newRig(t)
	r.put("SR:A", ramp(newYear, 3), 1)
	r.put("SR:B+C", ramp(newYear, 1), 2)
	r.put("br:D", ramp(newYear, 1), 3)
	r.addChannel("SR:NEW", sample.Unknown, 0)
	nan := math.NaN()
	m := sample.Metadata{Units: "m\xb0", Precision: 3, Type: sample.Float64}
	m.SetLimits([8]float64{-10, 10, nan, 8, nan, math.Inf(1), nan, nan})
	r.check(r.store.PutMetadata(context.Background(), store.PVMetadata{PV: "SR:A", Time: newYear, Metadata: m}))
	meta := `"metaData":{"type":"numeric","precision":3,"units":"m�","displayLow":-10.0,"displayHigh":10.0,"warnLow":"NaN","warnHigh":8.0,"alarmLow":"NaN","alarmHigh":"Infinity"}`
	line := func(after int, value string) string {
		return fmt.Sprintf(`{"time":%d,"severity":{"level":"OK","hasValue":true},"status":"NO_ALARM","quality":"Original",%s,"type":"double","value":[%s]}`,
			newYear+int64(after)*second, meta, value)
	}
	for path, want := range map[string]string{
		"":  "[\n" + `{"key":1,"name":"Varve","description":"Varve 1.2.3"}` + "\n]\n",
		"/": "[\n" + `{"key":1,"name":"Varve","description":"Varve 1.2.3"}` + "\n]\n",

		"/1/channels-by-pattern/*":              "[\n\"SR:A\",\n\"SR:B+C\",\n\"SR:NEW\",\n\"br:D\"\n]\n",
		"/1/channels-by-pattern/sr%3A%3F":       "[\n\"SR:A\"\n]\n",
		"/1/channels-by-pattern/BR%3Ad":         "[\n\"br:D\"\n]\n",
		"/1/channels-by-pattern/%2A%2B%2A":      "[\n\"SR:B+C\"\n]\n",
		"/1/channels-by-pattern/NONE*":          "[]\n",
		"/1/channels-by-regexp/SR%3A%5BAB%5D":   "[\n\"SR:A\"\n]\n",
		"/1/channels-by-regexp/.*D?prettyPrint": "[\n\"br:D\"\n]\n",

		"/1/samples/SR%3AA?start=1767225600500000000&end=1767225600700000000":   "[\n" + line(0, "0.0") + ",\n" + line(1, "1.0") + "\n]\n",
		"/1/samples/SR:A.VAL?start=1767225601000000000&end=1767225601000000000": "[\n" + line(1, "1.0") + "\n]\n",
		"/1/samples/ca%3A%2F%2FSR%3AA?start=0&end=1&count=10":                   "[\n" + line(0, "0.0") + "\n]\n",
		"/1/samples/SR%3AA?start=1767225609000000000&end=9223372036854775807":   "[\n" + line(2, "2.0") + "\n]\n",
		"/1/samples/SR%3ANEW?start=0&end=1":                                     "[]\n",
	} {
		if code, got := r.get(jsonAccess + path); code != 200 || got != want {
			t.Errorf("GET %s returns %d\n%swant\n%s", path, code, got, want)
		}
	}
	_, got := r.get(jsonAccess + "/1/samples/SR%3AA?start=0&end=1&prettyPrint")
	if !strings.Contains(got, "\n  \"time\": 1767225600000000000,\n") || !json.Valid([]byte(got)) {
		t.Errorf("the pretty answer is\n%s", got)
	}
}

func TestJSONAccessErrors(t *testing.T) {
	r := newRig(t)
	r.put("SR:A", ramp(newYear, 3), 1)
	for path, want := range map[string]string{
		"/1":                                              "404 ",
		"/2/samples/SR:A?start=0&end=1":                   `404 there is no archive with the key "2"; the only key is 1`,
		"/x/channels-by-pattern/*":                        `404 there is no archive with the key "x"`,
		"/1/samples/SR:NO?start=0&end=1":                  "404 reading SR:NO: unknown PV",
		"/1/samples/?start=0&end=1":                       "400 the path must end in the name of a PV",
		"/1/samples/SR:A?end=1":                           `400 parameter start: "" is not a time; write the nanoseconds since 1970-01-01T00:00:00Z`,
		"/1/samples/SR:A?start=0":                         `400 parameter end: "" is not a time`,
		"/1/samples/SR:A?start=1e9&end=1":                 `400 parameter start: "1e9" is not a time`,
		"/1/samples/SR:A?start=0&end=9223372036854775808": "400 parameter end: ",
		"/1/samples/SR:A?start=2&end=1":                   "400 parameter start: 2 is after the parameter end, 1",
		"/1/samples/SR:A?start=0&end=1&count=0":           `400 parameter count: "0" is not a whole number from 1 to 100000`,
		"/1/samples/SR:A?start=0&end=1&count=":            "400 parameter count: ",
		"/1/samples/SR:A?start=0&end=1&cuont=5":           `400 parameter "cuont" is unknown; did you mean count? The known ones are start, end, count, prettyPrint`,
		"/1/samples/SR:A?start=0&start=1&end=1":           "400 parameter start: it occurs 2 times",
		"/1/samples/SR:A?start=0;end=1":                   "400 the parameters in the URL cannot be read",
		"/1/channels-by-regexp/%28":                       "400 the path ends in no regular expression of RE2: ",
		"/1/channels-by-pattern/*?limit=5":                `400 parameter "limit" is unknown; did you mean prettyPrint?`,
		"/?pretty":                                        `400 parameter "pretty" is unknown; did you mean prettyPrint?`,
	} {
		code, got := r.get(jsonAccess + path)
		if got = fmt.Sprint(code, " ", got); !strings.HasPrefix(got, want) {
			t.Errorf("GET %s returns %s, want %s", path, got, want)
		}
	}
}

// TestJSONAccessTypes checks the values of each type. No integer loses digits.
func TestJSONAccessTypes(t *testing.T) {
	r := newRig(t)
	u64 := func(values ...uint64) (b []byte) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		return b
	}
	strs := sample.Sample{Bytes: sample.AppendStrings(nil, "a\"b", "")}
	long := strings.Repeat("x", 300_000)
	for i, c := range []struct {
		typ   sample.Type
		s     sample.Sample
		tag   sample.Tag
		want  string
		level string
	}{
		{sample.Float64, sample.Sample{Word: math.Float64bits(math.NaN())}, sample.MakeTag(sample.Invalid, 17), `"type":"double","value":["NaN"]`, "INVALID"},
		{sample.Float64, sample.Sample{Word: math.Float64bits(math.Inf(-1))}, sample.MakeTag(sample.Major, 3), `"type":"double","value":["-Infinity"]`, "MAJOR"},
		{sample.Float32, sample.Sample{Word: uint64(math.Float32bits(1.1))}, sample.MakeTag(sample.Minor, 4), `"type":"double","value":[1.1]`, "MINOR"},
		{sample.Int64, sample.Sample{Word: 1<<53 + 1}, 0, `"type":"long","value":[9007199254740993]`, "OK"},
		{sample.Int64, sample.Sample{Word: 1 << 63}, 0, `"type":"long","value":[-9223372036854775808]`, "OK"},
		{sample.Uint64, sample.Sample{Word: 1<<63 - 1}, 0, `"type":"long","value":[9223372036854775807]`, "OK"},
		{sample.Uint64, sample.Sample{Word: 1<<64 - 1}, 0, `"type":"string","value":["18446744073709551615"]`, "OK"},
		{sample.Bool, sample.Sample{Word: 1}, 0, `"type":"long","value":[1]`, "OK"},
		{sample.Enum, sample.Sample{Word: 3}, 0, `"metaData":{"type":"enum","states":[]},"type":"enum","value":[3]`, "OK"},
		{sample.String, sample.Sample{Bytes: []byte("text \"x\"\n\xb0")}, 0, `"type":"string","value":["text \"x\"\u000a` + "\uFFFD" + `"]`, "OK"},
		{sample.String, sample.Sample{Bytes: []byte(long)}, 0, `"type":"string","value":["` + long + `"]`, "OK"},
		{sample.Float64.Array(), sample.Sample{Bytes: u64(math.Float64bits(1), math.Float64bits(math.Inf(1)))}, 0, `"type":"double","value":[1.0,"Infinity"]`, "OK"},
		{sample.Float64.Array(), sample.Sample{}, 0, `"type":"double","value":[]`, "OK"},
		{sample.Int16.Array(), sample.Sample{Bytes: []byte{1, 0, 255, 255}}, 0, `"type":"long","value":[1,-1]`, "OK"},
		{sample.Uint64.Array(), sample.Sample{Bytes: u64(7, 1<<63)}, 0, `"type":"string","value":["7","9223372036854775808"]`, "OK"},
		{sample.Enum.Array(), sample.Sample{Bytes: []byte{0, 0, 2, 0}}, 0, `"metaData":{"type":"enum","states":[]},"type":"enum","value":[0,2]`, "OK"},
		{sample.String.Array(), strs, 0, `"type":"string","value":["a\"b",""]`, "OK"},
		{sample.Struct, sample.Sample{Bytes: []byte{0xff}}, 0, `"type":"string","value":["null"]`, "OK"}, // a structure without a value
	} {
		pv := fmt.Sprint("T", i)
		run := &sample.Run{Type: c.typ}
		c.s.Time, c.s.Tag = newYear, c.tag
		run.Append(&c.s)
		r.put(pv, run, 1)
		want := fmt.Sprintf("[\n{\"time\":%d,\"severity\":{\"level\":%q,\"hasValue\":true},\"status\":%q,\"quality\":\"Original\",%s}\n]\n", newYear, c.level, c.tag.StatusName(), c.want)
		for _, count := range []string{"", "&count=1", "&count=7"} {
			if _, got := r.get(jsonAccess + "/1/samples/" + pv + "?start=0&end=1767225600000000000" + count); got != want {
				t.Errorf("the %s is %.300s\nwant %.300s", c.typ, got, want)
			}
		}
	}
}

// TestJSONAccessMetadataChanges checks that each sample has the metadata of its own time.
func TestJSONAccessMetadataChanges(t *testing.T) {
	r := newRig(t)
	r.putChangingPV()
	var units string
	for _, it := range r.items("X", 2*second, 7*second, "") {
		units += fmt.Sprint(it.MetaData.Units, " ")
	}
	if units != "mA mA mA A A A " {
		t.Errorf("the units are %s", units)
	}
}

// mark stores a mark of a PV, some seconds after the new year.
func (r *rig) mark(pv string, after float64, kind sample.MarkKind, writer byte) {
	r.check(r.store.PutMarks(context.Background(), store.PVMark{
		PV: pv, Writer: store.WriterID{writer}, Mark: sample.Mark{Time: newYear + int64(after*1e9), Kind: kind},
	}))
}

// TestJSONAccessGaps checks that an answer shows when a PV had no value. Items without a value
// have an exclamation mark, and repeated values have a tilde.
func TestJSONAccessGaps(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear, 4), 1) // 0 to 3 s
	r.put("X", ramp(newYear+20*second, 2), 2)
	r.mark("X", -5, sample.Connected, 1)
	r.mark("X", 3.5, sample.Disconnected, 1)
	r.mark("X", 5, sample.Connected, 1) // with the value of 3 s
	r.mark("X", 7, sample.Paused, 1)
	r.mark("X", 9, sample.Resumed, 1)
	r.mark("X", 10, sample.Connected, 1)
	r.mark("X", 12, sample.Died, 2)
	r.mark("X", 14, sample.Connected, 2)
	r.mark("X", 15, sample.Disconnected, 1) // the PV is still connected to the other engine
	for _, c := range []struct {
		start, end float64
		want       string
	}{
		{2, 30, "2=2 3=3 3.5=Disconnected! 5=3~ 7=Archive_Disabled! 10=3~ 12=Archive_Off! 14=3~ 20=0 21=1"},
		{3, 3.2, "3=3 3.5=Disconnected!"},
		{3.1, 3.5, "3=3 3.5=Disconnected!"},
		{3.6, 4, "3.5=Disconnected! 5=3~"},
		{6, 6.5, "3=3 7=Archive_Disabled!"},
		{8, 9, "7=Archive_Disabled! 10=3~"},
		{15, 16, "3=3 20=0"},
		{-9, -8, "0=0"},
		{22, 23, "21=1"},
	} {
		if got := show(r.items("X", int64(c.start*1e9), int64(c.end*1e9), "")); got != c.want {
			t.Errorf("the answer from %v to %v s is %s, want %s", c.start, c.end, got, c.want)
		}
	}
	// A gap is shown in bins if it is at least as long as a bin.
	if got := show(r.items("X", 0, 24*second, "&count=2")); !strings.HasPrefix(got, "0=2.5~ 12=") || strings.Contains(got, "!") {
		t.Errorf("the bins of 12 s are %s", got)
	}
	r.put("Y", ramp(newYear, 10), 1)
	r.put("Y", ramp(newYear+40*second, 10), 2)
	r.mark("Y", 9.5, sample.Disconnected, 1)
	r.mark("Y", 39.5, sample.Connected, 1)
	got := r.items("Y", 0, 50*second, "&count=10")
	if text := show(got); !strings.Contains(text, " 9.5=Disconnected! 39.5=9~ 40=") {
		t.Errorf("the bins are %s", text)
	}
	for _, it := range r.items("Y", 20*second, 30*second, "&count=1") {
		if it.Time < newYear+30*second && it.Severity.HasValue {
			t.Errorf("the PV has the value %v in a gap", it.Value)
		}
	}
}

// TestJSONAccessGapsByCause checks that a PV has no value while nothing captures it, whatever the cause.
func TestJSONAccessGapsByCause(t *testing.T) {
	for kind, want := range map[sample.MarkKind]string{
		sample.Disconnected: "Disconnected", sample.AccessDenied: "Disconnected", sample.Paused: "Archive_Disabled",
		sample.Removed: "Archive_Disabled", sample.Died: "Archive_Off", sample.Stopped: "Archive_Off",
	} {
		r := newRig(t)
		r.put("X", ramp(newYear, 4), 1)
		r.put("X", ramp(newYear+20*second, 1), 1)
		r.mark("X", -1, sample.Connected, 1)
		r.mark("X", 3.5, kind, 1)
		r.mark("X", 19.5, sample.Connected, 1)
		if got := show(r.items("X", 3*second, 20*second, "")); got != "3=3 3.5="+want+"! 19.5=3~ 20=0" {
			t.Errorf("a gap that begins with the mark %v is %s", kind, got)
		}
	}
}

// TestJSONAccessCount checks that few samples come as they are, and many as bins with a minimum,
// mean and maximum.
func TestJSONAccessCount(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear, 1000), 1)
	got := r.items("X", 100*second, 103*second, "&count=4")
	if show(got) != "100=100 101=101 102=102 103=103" {
		t.Errorf("few samples are %s", show(got))
	}
	got = r.items("X", 100*second+1, 900*second-1, "&count=80")
	if n := len(got); n < 80 || n > 83 || got[0].Time > newYear+100*second || got[n-1].Time < newYear+900*second-1 || got[n-1].Type != "double" {
		t.Fatalf("%d items, first %+v, last %+v", n, got[0], got[n-1])
	}
	for _, it := range got[:len(got)-1] {
		lo, hi, mean := it.Minimum.(float64), it.Maximum.(float64), it.Value[0].(float64)
		if it.Type != "minMaxDouble" || it.Quality != "Interpolated" || mean < lo || mean > hi || hi-lo < 8 || hi-lo > 11 {
			t.Errorf("a bin is %+v", it)
		}
	}
	enum := &sample.Run{Type: sample.Enum}
	for i := range 100 {
		enum.Append(&sample.Sample{Time: newYear + int64(i)*second, Word: uint64(i / 10 % 3)})
	}
	r.put("E", enum, 1)
	states := map[any]bool{}
	for _, it := range r.items("E", 0, 99*second, "&count=2") {
		states[it.Value[0]] = it.Type == "enum" && it.MetaData.Type == "enum"
	}
	if !states[0.0] || !states[1.0] || !states[2.0] {
		t.Errorf("the bins show the states %v", states)
	}
}

// TestJSONAccessOfAChangedType checks that samples of other types appear between the bins of
// numbers, each once.
func TestJSONAccessOfAChangedType(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear, 100), 1)
	text := &sample.Run{Type: sample.String}
	for i := range 50 {
		text.Append(&sample.Sample{Time: newYear + int64(200+i)*second, Bytes: fmt.Appendf(nil, "t%d", i)})
	}
	r.put("X", text, 2)
	r.put("X", ramp(newYear+300*second, 100), 3)
	got := r.items("X", 0, 399*second, "&count=20")
	at, n := int64(0), 0
	for _, it := range got {
		if it.Time < at {
			t.Errorf("the item of %d comes after %d", it.Time, at)
		}
		if at = it.Time; it.Type == "string" {
			if n++; it.Value[0] != fmt.Sprint("t", n-1) {
				t.Errorf("text %d is %v", n, it.Value[0])
			}
		}
	}
	if n != 50 || got[0].Type != "minMaxDouble" {
		t.Errorf("there are %d texts in %s", n, show(got))
	}
}

// TestJSONAccessEqualsNative checks random ranges: the answer has the samples of /api/v1/samples,
// and the next one. A range that is split has the same samples.
func TestJSONAccessEqualsNative(t *testing.T) { compareWithNative(t, 15) }

// TestLong_JSONAccessEqualsNative is TestJSONAccessEqualsNative with more ranges.
func TestLong_JSONAccessEqualsNative(t *testing.T) { compareWithNative(t, 60) }

func compareWithNative(t *testing.T, ranges int) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(1, 2))
	at := newYear
	var times []int64
	for n := range uint32(12) {
		run := &sample.Run{Type: []sample.Type{sample.Float64, sample.Int32, sample.String}[rng.IntN(3)]}
		for range 1 + rng.IntN(300) {
			at += 1 + rng.Int64N(3*second)
			s := sample.Sample{Time: at, Word: uint64(rng.IntN(100)), Tag: sample.MakeTag(sample.Severity(rng.IntN(4)), 3)}
			if run.Type == sample.Float64 {
				s.Word = math.Float64bits(rng.NormFloat64())
			}
			if run.Type == sample.String {
				s.Bytes = fmt.Append(nil, "v", s.Word)
			}
			run.Append(&s)
			times = append(times, at)
		}
		r.put("X", run, n+1)
	}
	for range ranges {
		a, b := rng.IntN(len(times)), rng.IntN(len(times))
		start, end := times[min(a, b)]-rng.Int64N(2), times[max(a, b)]+rng.Int64N(2)-newYear
		start -= newYear
		got := r.items("X", start, end, "")
		whole := values(got)
		want := r.native("X", start, end)
		if next := slices.IndexFunc(times, func(t int64) bool { return t >= newYear+end }); next >= 0 && times[next] > newYear+end {
			if len(got) != len(want)+1 || got[len(got)-1].Time != times[next] {
				t.Fatalf("from %d to %d: %d items, want %d and the next sample", start, end, len(got), len(want))
			}
			got = got[:len(want)]
		}
		if text := values(got); !slices.Equal(text, want) {
			t.Fatalf("from %d to %d the samples are\n%v\nwant\n%v", start, end, text, want)
		}
		middle := start + (end-start)/2
		joined := append(values(r.items("X", start, middle, "")), values(r.items("X", middle, end, ""))...)
		slices.Sort(joined)
		slices.Sort(whole)
		if joined = slices.Compact(joined); !slices.Equal(joined, whole) {
			t.Fatalf("from %d to %d, split at %d, there are %d samples, want %d", start, end, middle, len(joined), len(whole))
		}
	}
}

func values(items []item) (out []string) {
	for _, it := range items {
		out = append(out, fmt.Sprint(it.Time, it.Value[0], it.Severity.Level))
	}
	return out
}

// native returns the samples of /api/v1/samples in the form of values.
func (r *rig) native(pv string, start, end int64) (out []string) {
	r.t.Helper()
	_, text := r.get(fmt.Sprintf("/api/v1/samples?pv=%s&from=%s&to=%s", pv, clock(newYear+start), clock(newYear+end)))
	var got struct {
		Runs []struct {
			Samples []struct {
				Time     string
				Value    any
				Severity string
			}
		}
	}
	r.check(json.Unmarshal([]byte(text), &got))
	for _, run := range got.Runs {
		for _, s := range run.Samples {
			out = append(out, fmt.Sprint(r.nanoseconds(s.Time), s.Value, strings.Replace(s.Severity, "NO_ALARM", "OK", 1)))
		}
	}
	return out
}

func clock(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

func (r *rig) nanoseconds(text string) int64 {
	t, err := time.Parse(time.RFC3339Nano, text)
	r.check(err)
	return t.UnixNano()
}

// TestJSONAccessOfAFailingStore checks that an answer that cannot be completed is an error or an
// aborted connection.
func TestJSONAccessOfAFailingStore(t *testing.T) {
	b := &broken{Store: openStore(t)}
	r := newRigOn(t, b)
	for i := range uint32(4) {
		r.put("X", ramp(newYear+int64(i)*4096*second, 4096), i+1)
	}
	const path = jsonAccess + "/1/samples/X?start=1767225600000000000&end=1769904000000000000"
	for _, count := range []string{"", "&count=100"} {
		if code, got := r.get(path + count); code != 500 || !strings.Contains(got, errBroken.Error()) {
			t.Errorf("GET %s%s returns %d %s", path, count, code, got)
		}
	}
	b.after = 3
	res, got, err := r.do(http.MethodGet, path, "")
	if res.StatusCode != 200 || len(got) == 0 || err == nil {
		t.Errorf("an incomplete answer with status %d and %d bytes ends with the error %v", res.StatusCode, len(got), err)
	}
}

// TestJSONAccessCompression checks that an answer is never compressed with deflate, because
// Phoebus cannot read that.
func TestJSONAccessCompression(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear, 4000), 1)
	for accept, want := range map[string]string{"gzip, deflate": "gzip", "deflate": "", "identity": ""} {
		res, _, err := r.do(http.MethodGet, jsonAccess+"/1/samples/X?start=0&end=1767229600000000000", "", "Accept-Encoding", accept)
		r.check(err)
		if got := res.Header.Get("Content-Encoding"); got != want || res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("the answer for %q is encoded as %q, %v", accept, got, res.Header)
		}
	}
}
