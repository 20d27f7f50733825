package serve

import (
	"bufio"
	"errors"
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

	"varve.dev/varve/engine/query"
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
	srv := &http.Server{Handler: limitRequests(h, (&Config{Reader: &query.Reader{}}).client), ReadHeaderTimeout: 10 * time.Second}
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

// from returns a request of a client with an address.
func from(client int, method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1234", client/256, client%256)
	return r
}

// TestBodiesAreBounded checks that the bodies of all requests share a budget, of which a client gets a
// share, and give it back.
func TestBodiesAreBounded(t *testing.T) {
	const ofClient, ofAll = bodyShare / maxBody, bodyBudget / maxBody
	body := strings.Repeat("a", maxBody)
	var h http.Handler
	var client func(depth int) int // who sends the request at a depth
	var errs []error
	depth := 0
	post := func(body string) {
		h.ServeHTTP(httptest.NewRecorder(), from(client(depth), http.MethodPost, "/", body))
	}
	h = limitRequests(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		if depth++; err != nil {
			errs = append(errs, err)
			return
		}
		if depth < 40 {
			post(body) // while this request is under way
		}
	}), (&Config{Reader: &query.Reader{}}).client)
	for range 3 {
		for most, who := range map[int]func(int) int{ofClient: func(int) int { return 1 }, ofAll: func(depth int) int { return depth / ofClient }} {
			depth, errs, client = 0, nil, who
			post(body)
			if depth != most+1 || len(errs) != 1 || !strings.Contains(errs[0].Error(), "more than 32 MiB") {
				t.Fatalf("%d requests had a body, want %d; the last one got %v", depth, most+1, errs)
			}
		}
	}
	depth, errs = 39, nil
	if post(body + "a"); len(errs) != 1 || !strings.Contains(errs[0].Error(), "at most 1 MiB") {
		t.Errorf("a larger body gets %v", errs)
	}
}

// TestRequestsAreBounded checks that a server with too many requests, or too many of one client, refuses
// others, and still answers Kubernetes.
func TestRequestsAreBounded(t *testing.T) {
	for most, client := range map[int]func(int) int{requestShare: func(int) int { return 1 }, maxRequests: func(depth int) int { return depth / requestShare }} {
		var h http.Handler
		depth, codes := 0, map[int]int{}
		get := func(path string) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, from(client(depth), http.MethodGet, path, ""))
			codes[w.Code]++
		}
		h = limitRequests(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if depth++; r.URL.Path == "/" {
				get("/")
				return
			}
		}), (&Config{Reader: &query.Reader{}}).client)
		get("/")
		if depth != most || codes[http.StatusTooManyRequests] != 1 {
			t.Errorf("%d requests were answered, want %d, with the codes %v", depth, most, codes)
		}
		get("/healthz")
		if depth != most+1 {
			t.Error("/healthz was refused")
		}
	}
}

// TestOtherPodsHaveNoShare checks that a process without readers answers as many requests of one address
// as of many: a pod sends the requests of all its readers.
func TestOtherPodsHaveNoShare(t *testing.T) {
	r := from(1, http.MethodGet, "/", "")
	if name := (&Config{}).client(r); name != "" {
		t.Errorf("a pod is the client %q", name)
	}
	if name := (&Config{Reader: &query.Reader{}}).client(r); name == "" {
		t.Error("a reader has no share")
	}
}

// TestBodiesHeldBackDelayNothing checks that a request whose body does not arrive is answered at
// once, if its body does not matter, and that the connection is closed.
func TestBodiesHeldBackDelayNothing(t *testing.T) {
	for begin, want := range map[string]int{
		"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\na":                  http.StatusBadRequest,
		"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n": http.StatusBadRequest,
		"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\na":           http.StatusBadRequest,
		"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\na":          http.StatusOK,
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\na":                 http.StatusOK,
	} {
		synctest.Test(t, func(t *testing.T) {
			var held time.Duration
			p := serveOnPipes(t, func(w http.ResponseWriter, _ *http.Request) {
				begun := time.Now()
				_, _ = w.Write(make([]byte, 100<<10)) // does not need the body
				held = time.Since(begun)
			})
			c := p.dial()
			defer c.Close()
			begun := time.Now()
			go func() { _, _ = io.WriteString(c, begin) }()
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != want || time.Since(begun) != 0 || held != 0 {
				t.Errorf("%.20q: %d after %v, %v; the answer took %v", begin, res.StatusCode, time.Since(begun), err, held)
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || time.Since(begun) > bodyTimeout+time.Second {
				t.Errorf("%.20q: the connection is open after %v: %v", begin, time.Since(begun), err)
			}
		})
	}
}

// TestConnectionsStayOpenAfterABody checks that a client whose body was read can send another request.
func TestConnectionsStayOpenAfterABody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan error, 2)
		p := serveOnPipes(t, readNames(t, got))
		c := p.dial()
		defer c.Close()
		answers := bufio.NewReader(c)
		for range 2 {
			if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nA,B"); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(answers, nil)
			if err != nil || res.Close || res.StatusCode != http.StatusOK {
				t.Fatalf("the answer is %v, %v", res, err)
			}
			_ = res.Body.Close()
		}
	})
}

// TestClientsAreHostsOrIdentities checks by what a client has its share.
func TestClientsAreHostsOrIdentities(t *testing.T) {
	for remote, want := range map[string]string{
		"10.1.2.3:99": "10.1.2.3", "[::ffff:10.1.2.3]:99": "10.1.2.3", "[2001:db8::1:2:3:4]:99": "2001:db8::/64", "[fe80::1%eth0]:9": "fe80::/64", "@": "",
	} {
		if got := hostOf(remote); got != want {
			t.Errorf("%s is the client %q, want %q", remote, got, want)
		}
	}
	g := newGuarded(t, "access:\n- tokens: {file: tokens}\n- anonymous: {}\n")
	depth, refused := 0, 0
	var get func(client int, token string)
	h := limitRequests(g.cfg.identify(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		depth++
		switch {
		case depth < requestShare:
			get(depth%7, g.ann) // from seven addresses
		case depth == requestShare:
			get(1, g.ann)
			get(1, g.bob)
			get(1, "")
		}
	})), g.cfg.client)
	get = func(client int, token string) {
		r := from(client, http.MethodGet, "/api/v1/status", "")
		r.Host = "localhost"
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code == http.StatusTooManyRequests {
			refused++
		}
	}
	get(0, g.ann)
	if depth != requestShare+2 || refused != 1 {
		t.Errorf("%d requests of two identities and an address were answered, and %d refused", depth, refused)
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
