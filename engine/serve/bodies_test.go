package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are pipes, whose deadlines follow the clock of synctest.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.ended) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// serveOnPipes serves a handler behind limitRequests until the test ends.
func serveOnPipes(t *testing.T, h http.HandlerFunc) *pipes {
	p := &pipes{conns: make(chan net.Conn), ended: make(chan struct{})}
	srv := &http.Server{Handler: limitRequests(h), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(p) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return p
}

// readNames is a handler that reads the body as the calls do.
func readNames(t *testing.T, got chan<- error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		got <- err
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

// TestSlowBodiesEnd checks that 300 clients that send a byte of a body now and then are refused
// after bodyTimeout, and say the limit.
func TestSlowBodiesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 300
		got := make(chan error, clients)
		p := serveOnPipes(t, readNames(t, got))
		begun := time.Now()
		for range clients {
			c := p.dial()
			go func() { _, _ = io.Copy(io.Discard, c) }()
			go func() {
				_, err := fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
				for ; err == nil; time.Sleep(time.Second) {
					_, err = c.Write([]byte("a"))
				}
				_ = c.Close()
			}()
		}
		for range clients {
			if err := <-got; err == nil || !strings.Contains(err.Error(), bodyTimeout.String()) {
				t.Fatalf("reading a slow body: %v", err)
			}
		}
		if d := time.Since(begun); d > bodyTimeout+time.Second {
			t.Errorf("slow bodies took %v", d)
		}
		time.Sleep(time.Minute)
	})
}

// TestLongAnswersToBodiesGoOn checks that the deadline of a body does not end a request whose
// answer takes longer.
func TestLongAnswersToBodiesGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serveOnPipes(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			select {
			case <-time.After(3 * bodyTimeout):
				fmt.Fprint(w, "done")
			case <-r.Context().Done():
			}
		})
		c := p.dial()
		defer c.Close()
		fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nA,B")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if body, err := io.ReadAll(res.Body); err != nil || string(body) != "done" {
			t.Errorf("the answer is %q: %v", body, err)
		}
	})
}

// TestBodiesAreBounded checks that the bodies of all requests share a budget, and give it back.
func TestBodiesAreBounded(t *testing.T) {
	body := strings.Repeat("a", maxBody)
	post := func(h http.Handler, body string) {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	}
	var errs []error
	var h http.Handler
	depth := 0
	h = limitRequests(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		if depth++; err != nil {
			errs = append(errs, err)
			return
		}
		if depth < 40 {
			post(h, body) // while this request is under way
		}
	}))
	for range 3 {
		depth, errs = 0, nil
		post(h, body)
		if depth != bodyBudget/maxBody+1 || len(errs) != 1 || !strings.Contains(errs[0].Error(), "more than 32 MiB") {
			t.Fatalf("%d requests had a body; the last one got %v", depth, errs)
		}
	}
	depth, errs = 39, nil
	if post(h, body+"a"); len(errs) != 1 || !strings.Contains(errs[0].Error(), "at most 1 MiB") {
		t.Errorf("a larger body gets %v", errs)
	}
}

// TestRequestsAreBounded checks that a server with too many requests refuses others, and still
// answers Kubernetes.
func TestRequestsAreBounded(t *testing.T) {
	var h http.Handler
	depth, codes := 0, map[int]int{}
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		codes[w.Code]++
		return w
	}
	h = limitRequests(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if depth++; r.URL.Path == "/" {
			get("/")
			return
		}
	}))
	get("/")
	if depth != maxRequests || codes[http.StatusServiceUnavailable] != 1 {
		t.Errorf("%d requests were answered, with the codes %v", depth, codes)
	}
	places := depth
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/healthz", http.NoBody))
	if depth != places+1 {
		t.Error("/healthz was refused")
	}
}

// TestErrorsOfBodies checks the status code and the form of an error for each kind of call.
func TestErrorsOfBodies(t *testing.T) {
	r := newRig(t)
	large := `["` + strings.Repeat("a", maxBody) + `"]`
	for _, path := range []string{"/mgmt/bpl/getPVStatus", "/retrieval/data/getDataAtTime", "/retrieval/data/getDataForPVs.json"} {
		res, text, err := r.do(http.MethodPost, path, large, "Content-Type", "application/json")
		r.check(err)
		if res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(text, "at most 1 MiB") ||
			strings.HasPrefix(path, "/mgmt") != strings.HasPrefix(text, `{"validation":`) {
			t.Errorf("%s answers %d %s", path, res.StatusCode, text)
		}
	}
}

// TestPatternsOverHTTPAreBounded checks that each path with a pattern refuses one that would take too
// long, and says the limit.
func TestPatternsOverHTTPAreBounded(t *testing.T) {
	r := newRig(t)
	r.capture()
	regex, globs, glob := "((a%7Cb)%7B30%7D)%7B30%7D", strings.Repeat("*a,", 8000), "*"+strings.Repeat("a", 300)
	const json = "/archive-access/api/1.0/archive/1/"
	for _, path := range []string{
		"/retrieval/bpl/getMatchingPVs?regex=" + regex, "/retrieval/bpl/searchForPVsRegex?regex=" + regex, "/mgmt/bpl/getAllPVs?regex=" + regex,
		"/mgmt/bpl/getPVStatus?regex=" + regex, "/mgmt/bpl/getEventRateReport?regex=" + regex, json + "channels-by-regexp/" + regex,
		"/mgmt/bpl/getPVStatus?pv=" + globs, "/mgmt/bpl/getAllPVs?pv=" + globs, "/mgmt/bpl/getPausedPVsReport?pv=" + globs,
		"/api/v1/names?pv=" + glob, "/api/v1/channels?pv=" + glob, json + "channels-by-pattern/" + glob,
	} {
		if code, text := r.get(path); code != http.StatusBadRequest || !strings.Contains(text, "at most") {
			t.Errorf("%.60s answers %d %.200s", path, code, text)
		}
	}
	_, once := r.get("/mgmt/bpl/getPVStatus?pv=A,A,A*,*,A")
	if n := strings.Count(once, `"pvName":"A"`); n != 1 {
		t.Errorf("the state of a PV is %d times in\n%s", n, once)
	}
}
