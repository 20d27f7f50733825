package serve

import (
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
)

// TestTimeRanges checks that an answer has each of several ranges, the last sample before each of
// them, and no sample twice.
func TestTimeRanges(t *testing.T) {
	r := newRig(t)
	r.put("SR:PRES", ramp(newYear, 100), 1)
	at := func(s int) string { return time.Unix(0, newYear+int64(s)*second).UTC().Format(time.RFC3339) }
	const csv = "/retrieval/data/getData.csv?pv="
	for query, want := range map[string]string{
		"SR:PRES&timeranges=" + at(-9) + "," + at(-8):                                                  "",
		"SR:PRES&timeranges=" + at(1) + "," + at(2) + "," + at(5) + "," + at(6):                        "1 2 5 6",
		"SR:PRES&timeranges=" + at(1) + "," + at(2) + "," + at(2) + "," + at(3):                        "1 2 3",
		"SR:PRES&timeranges=" + at(98) + "," + at(200) + "," + at(300) + "," + at(400):                 "98 99",
		"mean_2(SR:PRES)&timeranges=" + at(2) + "," + at(3) + "," + at(3) + "," + at(4):                "3 5",
		"lastSample_2(SR:PRES)&timeranges=" + at(2) + "," + at(3) + "," + at(8) + "," + at(9):          "3 9",
		"ncount(SR:PRES)&timeranges=" + at(0) + "," + at(9) + "," + at(20) + "," + at(39) + ",now,now": "",
	} {
		code, text := r.get(csv + url.PathEscape(query))
		var got []string
		for line := range strings.Lines(text) {
			var secs int64
			fmt.Sscan(strings.Split(line, ",")[0], &secs)
			got = append(got, fmt.Sprint(secs-newYear/second))
		}
		if strings.HasSuffix(query, "now") {
			if code != 400 || !strings.Contains(text, "range 3") {
				t.Errorf("a range before the others returns %d %s", code, text)
			}
			continue
		}
		if code != 200 || strings.Join(got, " ") != want {
			t.Errorf("%s returns %d %v", query, code, got)
		}
	}
	_, counts := r.get(csv + "ncount(SR:PRES)&timeranges=" + at(0) + "," + at(9) + "," + at(20) + "," + at(39))
	if counts != "1767225600,10,0,0,0\n1767225620,20,0,0,0\n" {
		t.Errorf("ncount of two ranges returns %s", counts)
	}
}

// TestDataParametersAreStrict checks that no parameter is ignored, except for those that are known to
// change nothing.
func TestDataParametersAreStrict(t *testing.T) {
	r := newRig(t)
	r.put("A", ramp(newYear, 3), 1)
	r.put("B", ramp(newYear, 2), 1)
	for query, want := range map[string]string{
		"getData.json?pv=A&form=2026-01-01T00:00:00Z":   `parameter "form" is unknown; did you mean from?`,
		"getData.json?pv=A&usereduced=yes":              "parameter usereduced",
		"getData.csv?pv=A&pv=B":                         "getData.csv takes a single PV",
		"getDataAtTime?pv=A&att=now":                    `parameter "att" is unknown; did you mean at?`,
		"getDataAtTime?pv=A&at=now&at=now":              "occurs 2 times",
		"getDataAtTime?pv=A&searchPeriod=1d":            "parameter searchPeriod: \"1d\" is not a period",
		"getDataAtTime":                                 "names 0 PVs",
		"getData.json?pv=A&from=2026-01-01T00:00:00Z;x": "cannot be read",
	} {
		if code, got := r.get("/retrieval/data/" + query); code != 400 || !strings.Contains(got, want) {
			t.Errorf("GET %s returns %d %s", query, code, got)
		}
	}
	const harmless = "&donotchunk&ca_count=100&ca_how=0&retiredPVTemplate=T&usereduced=false" + tenSeconds
	if code, got := r.get("/retrieval/data/getData.txt?pv=A&pv=B" + harmless); code != 200 || strings.Count(got, "\n") != 2+3+2 {
		t.Errorf("two PVs as text return %d %s", code, got)
	}
	for kind, body := range map[string]string{"application/json": `["A","B"]`, "application/x-www-form-urlencoded": "pv=A,B"} {
		res, got, err := r.do(http.MethodPost, "/retrieval/data/getDataForPVs.json?"+harmless[1:], body, "Content-Type", kind)
		r.check(err)
		if res.StatusCode != 200 || strings.Count(got, `"secs"`) != 5 {
			t.Errorf("POST of %s returns %d %s", kind, res.StatusCode, got)
		}
	}
	res, got, err := r.do(http.MethodPost, "/retrieval/data/getData.json?pv=A", "")
	r.check(err)
	if res.StatusCode != 405 || !strings.Contains(got, "takes GET") {
		t.Errorf("POST of getData returns %d %s", res.StatusCode, got)
	}
}

// TestDataAtTime checks the samples of many PVs at a time, in every form of the request.
func TestDataAtTime(t *testing.T) {
	r := newRig(t)
	r.put("A", ramp(newYear, 10), 1)
	r.put("B", ramp(newYear-3*24*3600*second, 1), 1)
	r.addChannel("EMPTY", sample.Unknown, 0)
	const at = "/retrieval/data/getDataAtTime?at=2026-01-01T00:00:05.5Z&includeProxies=true"
	const a = `"A.VAL":{"secs":1767225605,"val":5.0,"nanos":0,"severity":0,"status":0,"meta":{"DBRType":"DBR_SCALAR_DOUBLE"}}`
	const b = `"B":{"secs":1766966400,"val":0.0,"nanos":0,"severity":0,"status":0,"meta":{"DBRType":"DBR_SCALAR_DOUBLE"}}`
	for period, want := range map[string]string{
		"": a + ",\n" + b, "&searchPeriod=P1D": a, "&searchPeriod=P1W": a + ",\n" + b, "&searchPeriod=P1Y1M": a + ",\n" + b, "&searchPeriod=P2D": a,
	} {
		if code, got := r.get(at + period + "&pv=A.VAL,EMPTY&pv=B,NONE,B"); code != 200 || got != "{"+want+"}\n" {
			t.Errorf("GET with %s returns %d %s", period, code, got)
		}
	}
	for kind, body := range map[string]string{"application/json": `["A.VAL","EMPTY","B","NONE"]`, "text/plain": "A.VAL\nEMPTY\nB\n", "": "pv=A.VAL,EMPTY,B"} {
		res, got, err := r.do(http.MethodPost, at, body, "Content-Type", kind)
		r.check(err)
		if res.StatusCode != 200 || got != "{"+a+",\n"+b+"}\n" {
			t.Errorf("POST of %s returns %d %s", kind, res.StatusCode, got)
		}
	}
	if code, got := r.get("/retrieval/data/getDataAtTime?at=2020-01-01T00:00:00Z&pv=A"); code != 200 || got != "{}\n" {
		t.Errorf("before the first sample: %d %s", code, got)
	}
}

// TestManyDataAtTime checks a snapshot of a thousand PVs, in the order of the request.
func TestManyDataAtTime(t *testing.T) {
	r := newRig(t)
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("PV:%04d", 999-i))
		r.put(names[i], ramp(newYear-int64(i)*second, 1), 1)
	}
	body, err := json.Marshal(names)
	r.check(err)
	begin := time.Now()
	_, got, err := r.do(http.MethodPost, "/retrieval/data/getDataAtTime?at=2026-01-01T00:00:00Z", string(body), "Content-Type", "application/json")
	r.check(err)
	t.Logf("a snapshot of 1,000 PVs took %v", time.Since(begin))
	lines := strings.Split(strings.Trim(got, "{}\n"), "\n")
	if len(lines) != 1000 || !strings.HasPrefix(lines[0], `"PV:0999":{"secs":1767225600,`) || !strings.HasPrefix(lines[999], `"PV:0000":{"secs":1767224601,`) || !json.Valid([]byte(got)) {
		t.Errorf("the answer has %d lines, from %s to %s", len(lines), lines[0], lines[len(lines)-1])
	}
}

func TestJplot(t *testing.T) {
	r := newRig(t)
	r.put("A", ramp(newYear, 2), 1)
	nan := ramp(newYear, 1)
	nan.Words[0] = math.Float64bits(math.NaN())
	r.put("B", nan, 1)
	_, got := r.get("/retrieval/data/getData.jplot?pv=A&pv=B" + tenSeconds)
	if want := `[{"label":"A","data":[[1767225600000,0.0],[1767225601000,1.0]]},` + "\n" + `{"label":"B","data":[[1767225600000,null]]}]` + "\n"; got != want {
		t.Errorf("got %s", got)
	}
}

// TestSVG checks that the plot is well-formed, with a line for each PV that has numbers.
func TestSVG(t *testing.T) {
	r := newRig(t)
	r.put("A", ramp(newYear, 10), 1)
	r.put("B<&", ramp(newYear+2*second, 3), 1)
	text := &sample.Run{Type: sample.String}
	text.Append(&sample.Sample{Time: newYear, Bytes: []byte("on")})
	r.put("TEXT", text, 1)
	res, got, err := r.do(http.MethodGet, "/retrieval/data/getData.svg?pv=A&pv=B%3C%26&pv=TEXT"+tenSeconds, "")
	r.check(err)
	dec, paths := xml.NewDecoder(strings.NewReader(got)), 0
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		r.check(err)
		if e, is := token.(xml.StartElement); is && e.Name.Local == "path" {
			paths++
		}
	}
	// A rises by a ninth of the height each second, and a second is a ninth of the width.
	if res.Header.Get("Content-Type") != "image/svg+xml" || paths != 2 || !strings.Contains(got, `d="M40 540.0H151V484.4H262V428.9`) || !strings.Contains(got, "B&lt;&amp;") {
		t.Errorf("the plot is %s", got)
	}
}

// matlab is an element of a MATLAB file, decoded far enough for the test.
type matlab struct {
	class, rows, columns int
	name                 string
	data                 []byte
	fields               []string
	elements             []matlab // of a structure or a cell array
}

// element reads a tag and its data, and returns the rest.
func element(t *testing.T, b []byte) (kind uint32, data, rest []byte) {
	t.Helper()
	size := binary.LittleEndian.Uint32(b[4:])
	padded := (size + 7) &^ 7
	return binary.LittleEndian.Uint32(b), b[8 : 8+size], b[8+padded:]
}

func parseMatlab(t *testing.T, b []byte) (all []matlab) {
	t.Helper()
	for len(b) > 0 {
		kind, inner, rest := element(t, b)
		if kind != 14 {
			t.Fatalf("an array has the type %d", kind)
		}
		var m matlab
		var flags, dims, name []byte
		_, flags, inner = element(t, inner)
		_, dims, inner = element(t, inner)
		_, name, inner = element(t, inner)
		m.class, m.rows, m.columns, m.name = int(flags[0]), int(binary.LittleEndian.Uint32(dims)), int(binary.LittleEndian.Uint32(dims[4:])), string(name)
		switch m.class {
		case 2:
			// The length of the names has the short form in every file of MATLAB, and Octave reads no other.
			if binary.LittleEndian.Uint32(inner) != 4<<16|5 {
				t.Fatalf("the length of the names of fields begins with % x", inner[:8])
			}
			var names []byte
			w := int(binary.LittleEndian.Uint32(inner[4:]))
			for _, names, inner = element(t, inner[8:]); len(names) > 0; names = names[w:] {
				m.fields = append(m.fields, strings.TrimRight(string(names[:w]), "\x00"))
			}
			m.elements = parseMatlab(t, inner)
		case 1:
			m.elements = parseMatlab(t, inner)
		default:
			_, m.data, _ = element(t, inner)
		}
		all, b = append(all, m), rest
	}
	return all
}

// field returns a field of the i-th structure.
func (m *matlab) field(i int, name string) matlab {
	for k, f := range m.fields {
		if f == name {
			return m.elements[i*len(m.fields)+k]
		}
	}
	return matlab{}
}

func (m *matlab) text() string {
	var text []rune
	for i := 0; i < len(m.data); i += 2 {
		text = append(text, rune(binary.LittleEndian.Uint16(m.data[i:])))
	}
	return string(text)
}

func (m *matlab) doubles() (v []float64) {
	for i := 0; i < len(m.data); i += 8 {
		v = append(v, math.Float64frombits(binary.LittleEndian.Uint64(m.data[i:])))
	}
	return v
}

// TestMat checks a MATLAB file of a scalar, of an array and of texts.
func TestMat(t *testing.T) {
	r := newRig(t)
	r.put("A", ramp(newYear, 3), 1)
	array := &sample.Run{Type: sample.Int16.Array()}
	array.Append(&sample.Sample{Time: newYear + 5, Tag: sample.MakeTag(sample.Major, 7), Bytes: []byte{1, 0, 2, 0}})
	array.Append(&sample.Sample{Time: newYear + second, Bytes: []byte{3, 0, 255, 255}})
	r.put("W", array, 1)
	texts := &sample.Run{Type: sample.String}
	texts.Append(&sample.Sample{Time: newYear, Bytes: []byte("Öffnen")})
	r.put("T", texts, 1)
	res, got, err := r.do(http.MethodGet, "/retrieval/data/getData.mat?pv=A&pv=W&pv=T"+tenSeconds, "")
	r.check(err)
	if res.Header.Get("Content-Type") != "application/matlab" || !strings.HasPrefix(got, "MATLAB 5.0 MAT-file") || got[124:128] != "\x00\x01IM" {
		t.Fatalf("the answer is %s %.128q", res.Header.Get("Content-Type"), got)
	}
	all := parseMatlab(t, []byte(got[128:]))
	header, data := all[0], all[1]
	if len(all) != 2 || header.name != "header" || data.name != "data" || data.rows != 1 || data.columns != 3 {
		t.Fatalf("the variables are %+v", all)
	}
	name, from := header.field(1, "pvName"), header.field(1, "from")
	if name.text() != "W" || from.text() != "2026-01-01T00:00:00.000Z" {
		t.Errorf("the header is %+v", header)
	}
	values, secs, nanos, severity, status := data.field(0, "values"), data.field(0, "epochSeconds"), data.field(1, "nanos"), data.field(1, "severity"), data.field(1, "status")
	if fmt.Sprint(values.rows, values.columns, values.doubles()) != "3 1 [0 1 2]" || secs.class != 15 || binary.LittleEndian.Uint64(secs.data[16:]) != 1767225602 {
		t.Errorf("the values of a scalar are %+v at %+v", values, secs)
	}
	if binary.LittleEndian.Uint64(nanos.data) != 5 || severity.data[0] != 2 || binary.LittleEndian.Uint16(status.data) != 7 {
		t.Errorf("nanos, severity and status are %v %v %v", nanos.data, severity.data, status.data)
	}
	values = data.field(1, "values") // in columns
	if fmt.Sprint(values.rows, values.columns, values.doubles()) != "2 2 [1 3 2 -1]" {
		t.Errorf("the values of an array are %+v", values)
	}
	values = data.field(2, "values")
	if values.class != 1 || values.rows != 1 || values.elements[0].text() != "Öffnen" {
		t.Errorf("the values of texts are %+v", values)
	}
}

// TestMatIsBounded checks that a file that is too large is refused before its first byte.
func TestMatIsBounded(t *testing.T) {
	r := newRig(t)
	big := &sample.Run{Type: sample.Float64.Array()}
	for i := range 5 {
		big.Append(&sample.Sample{Time: newYear + int64(i)*second, Bytes: make([]byte, 8<<20)})
	}
	r.put("BIG", big, 1)
	if code, got := r.get("/retrieval/data/getData.mat?pv=BIG" + tenSeconds); code != 400 || !strings.Contains(got, "more than 32 MiB") {
		t.Errorf("a large file returns %d %.100s", code, got)
	}
}
