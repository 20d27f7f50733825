package upstream

import (
	"encoding/binary"
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
)

var escapes = strings.NewReplacer("\x1b", "\x1b\x01", "\n", "\x1b\x02", "\r", "\x1b\x03")

// header returns the first line of a chunk of samples of a payload type, in 2026.
func header(pv string, payload byte) string {
	return escapes.Replace(fmt.Sprintf("\x08%c\x12%c%s", payload, len(pv), pv)+"\x18\xea\x0f") + "\n"
}

// double returns the line of a sample at a second of the year.
func double(second uint64, v float64) string {
	msg := append(binary.AppendUvarint([]byte{8}, second), "\x10\x00\x19"...)
	return escapes.Replace(string(binary.LittleEndian.AppendUint64(msg, math.Float64bits(v)))) + "\n"
}

// at returns a second of 2026 in ns since 1970.
func at(second int64) int64 {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano() + second*1e9
}

// serve returns an archive with a handler of all requests.
func serve(t *testing.T, h http.HandlerFunc) *Appliance {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	base, err := url.Parse(srv.URL + "/retrieval")
	if err != nil {
		t.Fatal(err)
	}
	return &Appliance{Server{Base: base, Client: srv.Client()}}
}

// read reads the seconds 2 to 5 of A:B.
func read(t *testing.T, a *Appliance) (got string, err error) {
	t.Helper()
	for run, err := range a.Samples(t.Context(), "A:B", at(2), at(5)) {
		if err != nil {
			return got, err
		}
		for i, ns := range run.Times {
			got += fmt.Sprintf("%d:%v:%g ", (ns-at(0))/1e9, run.Type, run.Float(i))
		}
	}
	return got, nil
}

func TestReadsWhatIsInTheRange(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"the last sample before, and one after": {header("A:B", 6) + double(1, 1) + double(2, 2) + double(5, 5) + double(6, 6), "2:float64:2 5:float64:5 "},
		"another type":                          {header("A:B", 6) + double(2, 2) + "\n" + header("A:B", 5) + "\x08\x03\x10\x00\x1d\x07\x00\x00\x00\n", "2:float64:2 3:int32:7 "},
		"repeated samples, and equal times":     {header("A:B", 6) + double(2, 2) + double(2, 3) + double(2, 2) + double(2, 3), "2:float64:2 2:float64:3 "},
		"a repetition in the next chunk":        {header("A:B", 6) + double(2, 2) + "\n" + header("A:B", 6) + double(2, 2) + double(3, 3), "2:float64:2 3:float64:3 "},
		"X.VAL for X":                           {header("A:B.VAL", 6) + double(2, 2), "2:float64:2 "},
		"no sample":                             {header("A:B", 6), ""},
		"nothing":                               {"", ""},
	} {
		a := serve(t, func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if r.URL.Path != "/retrieval/data/getData.raw" || q.Get("pv") != "A:B" || q.Get("from") != "2026-01-01T00:00:02.000Z" || q.Get("to") != "2026-01-01T00:00:05.000Z" {
				t.Errorf("the request is %s", r.URL)
			}
			_, _ = io.WriteString(w, c.answer)
		})
		if got, err := read(t, a); err != nil || got != c.want {
			t.Errorf("%s: read %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// TestLiesAreErrors checks that no answer that is wrong or incomplete passes for a shorter answer.
func TestLiesAreErrors(t *testing.T) {
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
	}
	forever := func(w http.ResponseWriter, second uint64) {
		for _, err := io.WriteString(w, header("A:B", 6)); err == nil; {
			_, err = io.WriteString(w, double(second, 1)+double(second, 2))
		}
	}
	for want, h := range map[string]http.HandlerFunc{
		"out of order":                      text(header("A:B", 6) + double(3, 3) + double(2, 2)),
		"another PV":                        text(header("A:C", 6) + double(3, 3)),
		"payload type 14":                   text(header("A:B", 14) + "\x08\x03\n"),
		"damaged at byte":                   text(header("A:B", 6) + double(3, 3) + "\x08\x03"),
		"reading the header":                text("<html>sign in</html>\n"),
		"more than 1048576 bytes":           func(w http.ResponseWriter, _ *http.Request) { forever(w, 3) },
		"after the end of the range":        func(w http.ResponseWriter, _ *http.Request) { forever(w, 9) },
		"500 Internal Server Error: \"no\"": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) },
		"unexpected EOF": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, header("A:B", 6)+double(3, 3))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"Varve-Lost-Samples: \"7\"": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, header("A:B", 6)+double(3, 3))
			_ = http.NewResponseController(w).Flush()
			w.Header().Set(http.TrailerPrefix+"Varve-Lost-Samples", "7")
		},
	} {
		a := serve(t, h)
		a.MaxBytes = 1 << 20
		if want == "after the end of the range" {
			a.MaxBytes = 64 << 20
		}
		if got, err := read(t, a); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "reading A:B from ") {
			t.Errorf("%s: read %q, %v", want, got, err)
		}
	}
}

// TestSilenceEnds reads from a server that never answers, and from one that stops in the middle.
func TestSilenceEnds(t *testing.T) {
	for _, begin := range []string{"", header("A:B", 6) + double(3, 3)} {
		a := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, begin)
			if begin != "" {
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		})
		a.Idle = 20 * time.Millisecond
		if got, err := read(t, a); !errors.Is(err, ErrSilent) {
			t.Errorf("after %q: read %q, %v", begin, got, err)
		}
	}
}

func TestUnknownPVs(t *testing.T) {
	a := serve(t, http.NotFound)
	if got, err := read(t, a); !errors.Is(err, ErrUnknownPV) {
		t.Errorf("read %q, %v", got, err)
	}
	if err := a.Check(t.Context()); err == nil { // a wrong address is no archive without PVs
		t.Error("a server without the call getVersion passes for an archive")
	}
}
