package upstream

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
)

// serveJSON returns an archive with a handler of all requests.
func serveJSON(t *testing.T, h http.HandlerFunc) *JSONAccess {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	base, err := url.Parse(srv.URL + "/api")
	if err != nil {
		t.Fatal(err)
	}
	return &JSONAccess{Server: Server{Base: base, Client: srv.Client()}, Key: 3}
}

// jsonItem returns an item of a second of the year.
func jsonItem(second int64, typ, value string) string {
	return fmt.Sprintf(`{"time":%d,"severity":{"level":"MINOR","hasValue":true},"status":"HIGH","quality":"Original","type":%q,"value":%s}`, at(second), typ, value)
}

func answer(items ...string) string { return "[" + strings.Join(items, ",\n") + "]" }

// readJSON reads the seconds 2 to 5 of A:B, and the last sample before.
func readJSON(t *testing.T, a *JSONAccess) (got string, err error) {
	t.Helper()
	for run, err := range a.SamplesAndLast(t.Context(), "A:B", at(2), at(5)) {
		if err != nil {
			return got, err
		}
		for i, ns := range run.Times {
			text := fmt.Sprintf("%x", run.At(i).Bytes)
			if run.Type.Fixed() {
				text = fmt.Sprint(run.Float(i))
			}
			if run.Tags[i] != sample.MakeTag(sample.Minor, 4) {
				t.Errorf("the alarm is %v %s", run.Tags[i].Severity(), run.Tags[i].StatusName())
			}
			got += fmt.Sprintf("%d:%v:%s ", (ns-at(0))/1e9, run.Type, text)
		}
	}
	return got, nil
}

func TestJSONItemsAreSamples(t *testing.T) {
	computed := strings.Replace(jsonItem(3, "double", "[1]"), "Original", "Interpolated", 1)
	gone := strings.Replace(jsonItem(3, "string", `["Disconnected"]`), "true", "false", 1)
	for name, c := range map[string]struct{ answer, want string }{
		"numbers":          {answer(jsonItem(1, "double", "[1.5]"), jsonItem(2, "long", "[-7]"), jsonItem(3, "enum", "[2]"), jsonItem(9, "double", "[1]")), "1:float64:1.5 2:int64:-7 3:enum:2 "},
		"special numbers":  {answer(jsonItem(2, "double", `["NaN"]`), jsonItem(3, "double", `["-Infinity"]`), jsonItem(4, "double", `[1e3]`)), "2:float64:NaN 3:float64:-Inf 4:float64:1000 "},
		"large integers":   {answer(jsonItem(2, "long", "[9223372036854775807]")), fmt.Sprintf("2:int64:%v ", float64(math.MaxInt64))},
		"arrays":           {answer(jsonItem(2, "long", "[1,2]"), jsonItem(3, "enum", "[1,258]"), jsonItem(4, "double", "[]")), "2:int64[]:01000000000000000200000000000000 3:enum[]:01000201 4:float64[]: "},
		"texts":            {answer(jsonItem(2, "string", `["a\u00e9"]`), jsonItem(3, "string", `["a","b"]`)), "2:string:61c3a9 3:string[]:01610162 "},
		"no value":         {answer(jsonItem(2, "double", "[1]"), gone, computed, jsonItem(4, "double", "[2]")), "2:float64:1 4:float64:2 "},
		"a repeated item":  {answer(jsonItem(2, "double", "[1]"), jsonItem(2, "double", "[1]"), jsonItem(2, "double", "[2]")), "2:float64:1 2:float64:2 "},
		"the last before":  {answer(jsonItem(1, "double", "[1]"), jsonItem(8, "double", "[2]")), "1:float64:1 "},
		"nothing":          {answer(), ""},
		"an unknown field": {answer(strings.Replace(jsonItem(2, "double", "[1]"), "{", `{"x":[{}],`, 1)), "2:float64:1 "},
	} {
		a := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/archive/3/samples/A:B" || r.URL.RawQuery != fmt.Sprintf("start=%d&end=%d", at(2), at(5)) {
				t.Errorf("the request is %s", r.URL)
			}
			_, _ = io.WriteString(w, c.answer)
		})
		if got, err := readJSON(t, a); err != nil || got != c.want {
			t.Errorf("%s: read %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// TestJSONLiesAreErrors checks that no answer that is wrong or incomplete passes for a shorter answer.
func TestJSONLiesAreErrors(t *testing.T) {
	good := jsonItem(3, "double", "[1]")
	for want, text := range map[string]string{
		"out of order":                         answer(good, jsonItem(2, "double", "[1]")),
		"not a list in JSON":                   `{"a":1}`,
		"not a list in JSON\n":                 "<html>",
		"the end of the list":                  "[" + good,
		"reading an item":                      "[" + good + "," + good[:30],
		"unexpected EOF":                       "",
		"no time":                              answer(`{"severity":{"level":"OK","hasValue":true},"type":"long","value":[1]}`),
		"hasValue":                             answer(`{"time":1,"severity":{"level":"OK"},"type":"long","value":[1]}`),
		"the severity is \"BAD\"":              answer(strings.Replace(good, "MINOR", "BAD", 1)),
		"statistics":                           answer(jsonItem(3, "minMaxDouble", "[1]")),
		"the type \"float\"":                   answer(jsonItem(3, "float", "[1]")),
		"\"1.5\" is not an integer of 64 bits": answer(jsonItem(3, "long", "[1.5]")),
		"\"9223372036854775808\" is not an integer of 64 bits": answer(jsonItem(3, "long", "[9223372036854775808]")),
		"\"70000\" is not the number of a state":               answer(jsonItem(3, "enum", "[70000]")),
		"\"x\" is not a number":                                answer(jsonItem(3, "double", `["x"]`)),
		"\"1\" is not a text":                                  answer(jsonItem(3, "string", `[1]`)),
		"the value is not a list":                              answer(jsonItem(3, "double", `1`)),
		"more than 1024 samples": answer(func() (all []string) {
			for i := range 1025 {
				all = append(all, jsonItem(3, "long", fmt.Sprintf("[%d]", i)))
			}
			return all
		}()...),
	} {
		a := serveJSON(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
		if got, err := readJSON(t, a); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) || !strings.Contains(err.Error(), "reading A:B from ") {
			t.Errorf("%s: read %q, %v", want, got, err)
		}
	}
}

// TestJSONItemsAreBounded reads an item that is longer than allowed, and many that are not.
func TestJSONItemsAreBounded(t *testing.T) {
	long := "[" + jsonItem(3, "double", "[1"+strings.Repeat(",1", 5000)+"]")
	if it, err := newItems(strings.NewReader(long), 4<<10).next(); err == nil || !strings.Contains(err.Error(), "more than 4096 bytes") {
		t.Errorf("a long item: %+v, %v", it, err)
	}
	array := &item{Type: "long", Value: []byte("[1,2,3]")}
	for most, want := range map[int]bool{24: true, 23: false} {
		if typ, err := array.value(&sample.Sample{}, most); (err == nil) != want {
			t.Errorf("an array of 24 bytes, of which %d are allowed: %v, %v", most, typ, err)
		}
	}
	many := make([]string, 100)
	for i := range many {
		many[i] = jsonItem(int64(i), "double", "[1]")
	}
	items, n := newItems(strings.NewReader(answer(many...)), 4<<10), 0
	for _, err := items.next(); err == nil; _, err = items.next() {
		n++
	}
	if n != len(many) {
		t.Errorf("%d items are read, want %d", n, len(many))
	}
}

// TestJSONServersThatMislead checks an unknown PV, a redirect to another PV, an error and silence.
func TestJSONServersThatMislead(t *testing.T) {
	for want, h := range map[string]http.HandlerFunc{
		ErrUnknownPV.Error(): http.NotFound,
		"another path": func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/A:B") {
				http.Redirect(w, r, "/api/archive/3/samples/C:D?"+r.URL.RawQuery, http.StatusFound)
				return
			}
			_, _ = io.WriteString(w, answer(jsonItem(3, "double", "[1]")))
		},
		"500 Internal": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) },
		ErrSilent.Error(): func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "["+jsonItem(3, "double", "[1]"))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		a := serveJSON(t, h)
		a.Idle = time.Minute
		if want == ErrSilent.Error() {
			a.Idle = 20 * time.Millisecond
		}
		if got, err := readJSON(t, a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: read %q, %v", want, got, err)
		}
	}
}

// TestJSONDescribe reads the type and the metadata of a PV, and the names of all.
func TestJSONDescribe(t *testing.T) {
	meta := `"metaData":{"type":"numeric","precision":2,"units":"mA","displayLow":-1.5,"displayHigh":"NaN","warnLow":"Infinity","alarmHigh":9},`
	items := answer(strings.Replace(jsonItem(3, "double", "[1,2]"), `"type":"double"`, meta+`"type":"double"`, 1))
	a := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.EscapedPath() {
		case "/api/archive/":
			_, _ = io.WriteString(w, `[{"key":1,"name":"a"},{"key":3,"name":"b"}]`)
		case "/api/archive/3/samples/A%2FB%2B%3F":
			_, _ = io.WriteString(w, items)
		case "/api/archive/3/channels-by-pattern/%2A":
			_, _ = io.WriteString(w, `["A/B+?","C"]`)
		default:
			_, _ = io.WriteString(w, "[]")
		}
	})
	m, err := a.Describe(t.Context(), "A/B+?", at(4))
	if err != nil || m.Type != sample.Float64.Array() || m.Count != 2 || m.Units != "mA" || m.Precision != 2 || m.DisplayLow != -1.5 || m.AlarmHigh != 9 ||
		!math.IsNaN(m.DisplayHigh) || !math.IsNaN(m.WarnLow) || !math.IsNaN(m.WarnHigh) {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := a.Describe(t.Context(), "NONE", at(4)); !errors.Is(err, ErrUnknownPV) {
		t.Errorf("a PV without samples: %+v, %v", m, err)
	}
	var names []string
	if err := a.Names(t.Context(), func(name string) { names = append(names, name) }); err != nil || strings.Join(names, " ") != "A/B+? C" {
		t.Errorf("names %q, %v", names, err)
	}
	if err := a.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if a.Key = 2; a.Check(t.Context()) == nil {
		t.Error("an archive that the server does not have passes for one")
	}
}

// FuzzJSONItems checks that no answer makes the reader fail in another way than by an error.
func FuzzJSONItems(f *testing.F) {
	for _, typ := range []string{"double", "long", "enum", "string", "minMaxDouble"} {
		f.Add(answer(jsonItem(3, typ, "[1]"), jsonItem(4, typ, `["a",2]`)))
	}
	f.Add(`[{"time":1,"severity":{"level":"OK","hasValue":true},"type":"long","value":null}]`)
	f.Fuzz(func(_ *testing.T, text string) {
		items := newItems(strings.NewReader(text), 1<<20)
		for it, err := items.next(); err == nil; it, err = items.next() {
			if s, typ, err := it.sample(); err == nil && typ.Valid() {
				it.metadata(typ, &s)
			}
		}
	})
}
