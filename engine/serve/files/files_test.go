package files

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/admission"
)

const memory = 16 << 20

// midnight is the start of the day of noon.
var midnight = noon.Add(-12 * time.Hour)

// TestAFileHasTheSamplesOfItsDay checks that a file has all samples of its day and no others, and that
// the files of consecutive days share none.
func TestAFileHasTheSamplesOfItsDay(t *testing.T) {
	r := newRig(t, memory)
	r.put("SR:I", floats(midnight.Add(-2*time.Second), 1, 2, 3, 4), nil)
	r.put("SR:I", floats(midnight.Add(24*time.Hour-2*time.Second), 5, 6, 7, 8), nil)
	f, res := r.open(path)
	if got := strings.Join(values(t, f, 2), " "); got != "3 4 5 6" {
		t.Errorf("the values are %s", got)
	}
	if c, e := res.Header.Get("Cache-Control"), res.Header.Get("Varve-Complete-Until"); c != "no-cache" || e != "" {
		t.Errorf("a complete day has the headers %q and %q", c, e)
	}
	for name, want := range map[string]string{"pv": "SR:I", "from": "2026-03-01T00:00:00Z", "to": "2026-03-01T23:59:59.999999999Z", "types": "float64"} {
		if got, _ := f.Lookup(name); got != want {
			t.Errorf("the metadata %s is %q", name, got)
		}
	}
	if _, has := f.Lookup("completeUntil"); has {
		t.Error("a complete file says that it is not complete")
	}
	f, _ = r.open("/api/v1/files/SR:I.VAL/2026-02-28.parquet")
	if got := strings.Join(values(t, f, 2), " "); got != "1 2" {
		t.Errorf("the values of the day before are %s", got)
	}
}

// TestRanges checks ranges, HEAD and conditional requests.
func TestRanges(t *testing.T) {
	r := newRig(t, memory)
	r.put("SR:I", floats(noon, 1, 2, 3), nil)
	res, whole := r.get(path, "Accept-Encoding", "gzip")
	tag := res.Header.Get("ETag")
	if res.ContentLength != int64(len(whole)) || !strings.HasPrefix(tag, `"`) || res.Header.Get("Accept-Ranges") != "bytes" || res.Header.Get("Content-Encoding") != "" {
		t.Errorf("the headers are %v", res.Header)
	}
	for span, want := range map[string][]byte{
		"bytes=0-3": whole[:4], "bytes=-8": whole[len(whole)-8:], fmt.Sprintf("bytes=%d-", len(whole)-4): whole[len(whole)-4:], "bytes=10-20": whole[10:21],
	} {
		res, part := r.get(path, "Range", span, "If-Range", tag)
		if res.StatusCode != http.StatusPartialContent || !bytes.Equal(part, want) || res.Header.Get("ETag") != tag {
			t.Errorf("%s is %d, %d bytes", span, res.StatusCode, len(part))
		}
	}
	if res, _ := r.get(path, "If-None-Match", tag); res.StatusCode != http.StatusNotModified {
		t.Errorf("an unchanged file is %d", res.StatusCode)
	}
	if res, _ := r.get(path, "If-Match", `"other"`, "Range", "bytes=0-3"); res.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("a range of another version is %d", res.StatusCode)
	}
	if res, part := r.get(path, "If-Range", `"other"`, "Range", "bytes=0-3"); res.StatusCode != http.StatusOK || len(part) != len(whole) {
		t.Errorf("a range of another version is %d, %d bytes", res.StatusCode, len(part))
	}
	if res, _ := r.get(path, "Range", "bytes=99999999-"); res.StatusCode != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("a range after the end is %d", res.StatusCode)
	}
	head, err := http.Head(r.url + path)
	if err != nil || head.ContentLength != int64(len(whole)) || head.Header.Get("ETag") != tag {
		t.Errorf("HEAD returns %v, %v", head, err)
	}
	head.Body.Close()
}

// TestTheETagFollowsTheSamples checks that the ETag of a day stays, also in another process, until a
// late sample changes the day, and that ranges within a minute are those of one version.
func TestTheETagFollowsTheSamples(t *testing.T) {
	r := newRig(t, memory)
	r.put("SR:I", floats(noon, 1, 2, 3), nil)
	tag := func() string {
		_, res := r.open(path)
		return res.Header.Get("ETag")
	}
	first := tag()
	r.now.Add(int64(time.Hour))
	if got := tag(); got != first {
		t.Errorf("an hour later the ETag is %s instead of %s", got, first)
	}
	other := newRig(t, memory)
	other.put("SR:I", floats(noon, 1), nil)
	other.put("SR:I", floats(noon.Add(time.Second), 2, 3), nil)
	if _, res := other.open(path); res.Header.Get("ETag") != first {
		t.Error("equal samples in another archive have another ETag")
	}
	r.put("SR:I", floats(noon.Add(-time.Second), 0), nil)
	if got := tag(); got != first {
		t.Error("the file changes while a client may be reading it")
	}
	r.now.Add(int64(fresh))
	f, res := r.open(path)
	if got := strings.Join(values(t, f, 2), " "); res.Header.Get("ETag") == first || got != "0 1 2 3" {
		t.Errorf("after a late sample the values are %s, and the ETag is %s", got, res.Header.Get("ETag"))
	}
}

// TestADayThatLastsIsNotComplete checks the file of a day that has not ended, and of one that has
// ended a moment ago.
func TestADayThatLastsIsNotComplete(t *testing.T) {
	r := newRig(t, memory)
	r.put("SR:I", floats(noon, 1, 2), nil)
	for now, until := range map[time.Time]string{
		noon.Add(time.Hour):                      "2026-03-01T12:59:00Z",
		midnight.Add(24*time.Hour + time.Second): "2026-03-01T23:59:01Z",
		midnight.Add(24*time.Hour + time.Minute): "",
	} {
		r.now.Store(now.UnixNano())
		r.handler.cache = newCache(memory)
		f, res := r.open(path)
		note, _ := f.Lookup("completeUntil")
		if got := res.Header.Get("Varve-Complete-Until"); got != until || note != until || (res.Header.Get("Cache-Control") == "no-store") != (until != "") {
			t.Errorf("at %v the file is complete until %q, in its metadata %q, Cache-Control %q", now, got, note, res.Header.Get("Cache-Control"))
		}
	}
	r.now.Store(noon.UnixNano())
	res, body := r.get("/api/v1/files/SR:I/2026-03-02.parquet")
	if res.StatusCode != http.StatusNotFound || !strings.Contains(problem(body), "so far") || res.Header.Get("Varve-Complete-Until") == "" {
		t.Errorf("tomorrow is %d %s", res.StatusCode, body)
	}
}

// TestChangesOfTheType checks the column of values of a day with samples of several types.
func TestChangesOfTheType(t *testing.T) {
	text := &sample.Run{Type: sample.String}
	text.Append(&sample.Sample{Time: noon.Add(time.Hour).UnixNano(), Bytes: []byte("off")})
	array := &sample.Run{Type: sample.Int16.Array()}
	array.Append(&sample.Sample{Time: noon.Add(time.Hour).UnixNano(), Bytes: []byte{1, 0, 2, 0}})
	later := noon.Add(time.Minute)
	for name, c := range map[string]struct {
		runs          []*sample.Run
		values, types string
		kind          string
	}{
		"one type":           {[]*sample.Run{words(sample.Enum, noon, 1, 2)}, "1 2", "enum", "INT(64,true)"},
		"enum and double":    {[]*sample.Run{words(sample.Enum, noon, 1), floats(later, 0.5)}, "1 0.5", "enum,float64", "DOUBLE"},
		"double and enum":    {[]*sample.Run{floats(noon, 0.5), words(sample.Enum, later, 1)}, "0.5 1", "float64,enum", "DOUBLE"},
		"small and large":    {[]*sample.Run{words(sample.Uint8, noon, 1), words(sample.Uint64, later, 1<<60)}, "1 1152921504606846976", "uint8,uint64", "INT(64,false)"},
		"double and string":  {[]*sample.Run{floats(noon, 0.5), text}, "0.5 off", "float64,string", "STRING"},
		"double and array":   {[]*sample.Run{floats(noon, 0.5), array}, "0.5 [1,2]", "float64,int16[]", "STRING"},
		"would be rounded":   {[]*sample.Run{floats(noon, 0.5), words(sample.Int64, later, 1<<53+1)}, "0.5 9007199254740993", "float64,int64", "STRING"},
		"three, and rounded": {[]*sample.Run{words(sample.Int64, noon, 1<<53+1), floats(later, 0.5), text}, "9007199254740993 0.5 off", "int64,float64,string", "STRING"},
	} {
		r := newRig(t, memory)
		for _, run := range c.runs {
			r.put("SR:I", run, nil)
		}
		f, _ := r.open(path)
		types, _ := f.Lookup("types")
		got := strings.Join(values(t, f, 2), " ")
		if kind := f.Schema().Fields()[2].Type().String(); got != c.values || types != c.types || kind != c.kind {
			t.Errorf("%s: the column %s has %s of the types %s", name, kind, got, types)
		}
	}
}

// TestDamagedBlocks checks that a file says how many samples it leaves out, also if it has no others.
func TestDamagedBlocks(t *testing.T) {
	r := newRig(t, memory)
	r.put("SR:I", floats(noon, 1, 2), nil)
	cut := func(blob []byte) []byte { return blob[:len(blob)-1] }
	r.put("SR:I", floats(noon.Add(time.Hour), 3, 4, 5), cut)
	r.put("SR:I", floats(noon.Add(-24*time.Hour), 6), cut)
	for path, want := range map[string]string{path: "3 1 2", "/api/v1/files/SR:I/2026-02-28.parquet": "1 "} {
		f, res := r.open(path)
		note, _ := f.Lookup("lostSamples")
		if got := res.Header.Get("Varve-Lost-Samples") + " " + strings.Join(values(t, f, 2), " "); got != want || !strings.HasPrefix(want, note+" ") {
			t.Errorf("%s: lost samples and values are %s, and in the metadata %s", path, got, note)
		}
	}
}

// TestRefusals checks the answers to requests without a file.
func TestRefusals(t *testing.T) {
	r := newRig(t, 2*chunkBytes)
	r.put("SR:I", floats(noon, 1, 2), nil)
	large := &sample.Run{Type: sample.String}
	noise := make([]byte, 0, 2*chunkBytes)
	for x := uint32(1); len(noise) < cap(noise); x = x*1664525 + 1013904223 {
		noise = append(noise, byte(x>>24)&0x7f)
	}
	large.Append(&sample.Sample{Time: noon.UnixNano(), Bytes: noise})
	r.put("LARGE", large, nil)
	for path, want := range map[string]string{
		"/api/v1/files/NONE/2026-03-01.parquet":   "404 reading NONE: unknown PV",
		"/api/v1/files/SR:I/2026-03-05.parquet":   "404 SR:I has no samples on 2026-03-05",
		"/api/v1/files/SR:I/2026-03-32.parquet":   `400 "2026-03-32" is not a day`,
		"/api/v1/files/SR:I/0026-03-02.parquet":   "400 year 26 is not in the range",
		"/api/v1/files/SR:I":                      "404 a file is named PV/DAY.parquet",
		"/api/v1/files/SR:I/2026-03-01.csv":       "404 a file is named PV/DAY.parquet",
		path + "?form=1":                          `400 parameter "form" is unknown`,
		"/api/v1/files/LARGE/2026-03-01.parquet":  "413 the file would have more than",
		"/api/v1/files?form=1":                    `400 parameter "form" is unknown; did you mean from?`,
		"/api/v1/files":                           "400 parameter pv: it is required",
		"/api/v1/files?pv=SR:I&limit=0":           "400 parameter limit: \"0\" is not a whole number from 1 to 1000",
		"/api/v1/files?pv=SR:I&from=-1h&to=-2h":   "400 parameter from:",
		"/api/v1/files?pv=NONE":                   "404 reading NONE: unknown PV",
		"/api/v1/files?pv=SR:I&from=2026-13-01":   "400 parameter from:",
		"/api/v1/files/SR:I/2026-03-01.parquet/x": "404 a file is named PV/DAY.parquet",
	} {
		res, body := r.get(path)
		if got := fmt.Sprint(res.StatusCode, " ", problem(body)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if r.handler.cache.held != 0 || len(r.handler.cache.entries) != 0 {
		t.Errorf("the cache holds %d bytes of %d files", r.handler.cache.held, len(r.handler.cache.entries))
	}
}

// TestHiddenPVsWaitLikeUnknownOnes checks that a reader cannot learn from the order of refusals whether the
// archive knows a PV: with all reads taken, neither gets an answer.
func TestHiddenPVsWaitLikeUnknownOnes(t *testing.T) {
	r := newRig(t, memory)
	r.put("SR:I", floats(noon, 1), nil)
	h := &Handler{
		Reader: &query.Reader{Store: r.store, Shards: 4, Now: r.now.Load, Visible: func(_ context.Context, pv string) bool { return pv != "SR:I" }},
		Reads:  admission.New(1, prometheus.NewRegistry()), Memory: memory, Now: r.handler.Now, Log: r.handler.Log,
	}
	mux := http.NewServeMux()
	h.Register(mux)
	leave, err := h.Reads.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // ends the wait for a place
	for _, pv := range []string{"SR:I", "SR:NONE"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/files/"+pv+"/2026-03-01.parquet", http.NoBody))
		if w.Body.Len() > 0 {
			t.Errorf("%s: the answer does not wait for a read: %d %s", pv, w.Code, w.Body)
		}
	}
}

// TestNamesHaveNoControlCharacters checks that control characters are refused, and not repeated.
func TestNamesHaveNoControlCharacters(t *testing.T) {
	r := newRig(t, memory)
	for _, path := range []string{"/api/v1/files/SR%01:I/2026-03-01.parquet", "/api/v1/files?pv=SR%01:I"} {
		res, body := r.get(path)
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "control characters") || strings.Contains(string(body), "u0001") {
			t.Errorf("%s answers %d %q", path, res.StatusCode, body)
		}
	}
}
