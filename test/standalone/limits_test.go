package standalone

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// mostResident is the limit of the resident memory under hostile requests. The archiver takes up to 500 MiB,
// most of it for the store and the runtime.
const mostResident = 750 << 20

// TestHostileRequests checks that requests which ask for too much are refused or bounded, that other
// clients are answered meanwhile, and that capture goes on.
func TestHostileRequests(t *testing.T) {
	const arrays = 4
	pvs := archive.Names("T:", 20)
	var records strings.Builder
	records.WriteString(archive.Counting(pvs))
	all := append([]string{}, pvs...)
	for i := range arrays {
		all = append(all, fmt.Sprintf("ARRAY:%d", i))
		fmt.Fprintf(&records, `record(histogram, %q) { field(NELM, "10000") field(ULIM, "1000") field(SVL, "%s CP") field(MDEL, "-1") }`,
			all[len(all)-1], pvs[i])
	}
	ioc := epics.StartIOC(t, records.String())
	groups := t.TempDir()
	program.WriteGroup(t, groups, "all", program.Group("all", "", all...))
	a := program.Standalone(t, ioc.ClientEnv(), "-f", groups, "--data", t.TempDir(), "--memory", "128Mi")
	begin := a.AwaitSamples(len(all))
	a.GoOn(5 * time.Second) // arrays

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var load sync.WaitGroup
	host := strings.TrimPrefix(a.URL, "http://")
	refused := &refusals{}
	for range 160 { // more than have room in the share of bodies
		load.Go(func() { postSlowly(ctx, "127.0.0.3", host, 64<<10, refused) })
	}
	for range 280 { // more than have a place among requests
		load.Go(func() { postSlowly(ctx, "127.0.0.4", host, 1, refused) })
	}
	arraysPath := "/retrieval/data/getData.json?pv=" + strings.Join(all[len(pvs):], "&pv=")
	for range 100 { // more than are read at a time
		load.Go(func() { readSlowly(ctx, host, arraysPath, refused) })
	}
	load.Go(func() { askTooMuch(ctx, t, a.URL) })
	load.Go(func() {
		defer cancel()
		checkOthers(ctx, t, a.URL, pvs[0], refused)
	})
	load.Wait()

	if peak := peak(t, a); peak > mostResident {
		t.Errorf("the archiver's peak memory was %d MiB, more than %d", peak>>20, mostResident>>20)
	} else {
		t.Logf("the archiver's peak memory was %d MiB", peak>>20)
	}
	a.GoOn(time.Second)
	checkHoles(t, a.ReadAll(pvs, begin))
}

// refusals counts the requests that a limit has refused.
type refusals struct{ requests, bodies, reads atomic.Int64 }

// note counts an answer, or the beginning of one.
func (r *refusals) note(answer []byte) {
	for text, count := range map[string]*atomic.Int64{
		"the server answers at most": &r.requests, "the bodies of all requests": &r.bodies, "serves as many reads of samples": &r.reads,
	} {
		if bytes.Contains(answer, []byte(text)) {
			count.Add(1)
		}
	}
}

// missing names the limits that have refused nothing.
func (r *refusals) missing() (names []string) {
	for name, count := range map[string]*atomic.Int64{"maxRequests": &r.requests, "bodyBudget": &r.bodies, "the gate": &r.reads} {
		if count.Load() == 0 {
			names = append(names, name)
		}
	}
	return names
}

// dialFrom connects from a local address. The connection ends with ctx.
func dialFrom(ctx context.Context, address, host string) (conn net.Conn, hangUp func(), err error) {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	if conn, err = d.DialContext(ctx, "tcp4", host); err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return conn, func() { stop(); _ = conn.Close() }, nil
}

// postSlowly sends some bytes of a body, and then one now and then, as often as the server lets it.
func postSlowly(ctx context.Context, from, host string, begin int, refused *refusals) {
	for ; ctx.Err() == nil; wait(ctx, 100*time.Millisecond) {
		conn, hangUp, err := dialFrom(ctx, from, host)
		if err != nil {
			continue
		}
		_, err = fmt.Fprintf(conn, "POST /mgmt/bpl/getPVStatus HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", 1<<20, make([]byte, begin))
		for b := make([]byte, 4<<10); err == nil && ctx.Err() == nil; {
			var n int
			_ = conn.SetReadDeadline(time.Now().Add(time.Second))
			n, err = conn.Read(b)
			if refused.note(b[:n]); errors.Is(err, os.ErrDeadlineExceeded) {
				_, err = conn.Write([]byte("A"))
			}
		}
		hangUp()
	}
}

// readSlowly reads a few bytes of an answer at a time. After some seconds it repeats the request, whose answer
// is larger then: in the end it does not fit into the buffers of the connection.
func readSlowly(ctx context.Context, host, path string, refused *refusals) {
	for ; ctx.Err() == nil; wait(ctx, 100*time.Millisecond) {
		conn, hangUp, err := dialFrom(ctx, "127.0.0.1", host)
		if err != nil {
			continue
		}
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
		b := make([]byte, 1<<10)
		for i := 0; i < 10 && err == nil && ctx.Err() == nil; i++ {
			var n int
			n, err = conn.Read(b)
			refused.note(b[:n])
			wait(ctx, time.Second)
		}
		hangUp()
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// askTooMuch sends requests that must be refused, with the limit, until ctx ends.
func askTooMuch(ctx context.Context, t *testing.T, base string) {
	const century = "&from=1930-01-01T00:00:00Z&to=2030-01-01T00:00:00Z"
	requests := []struct{ path, want string }{
		{"/mgmt/bpl/getPVStatus?pv=" + strings.Repeat("*,", 12_000), "at most 100"},
		{"/mgmt/bpl/getAllPVs?regex=" + url.QueryEscape(strings.Repeat("(((.{1,10}){1,10}){1,10})*", 65)), "at most 256"},
		{"/mgmt/bpl/getAllPVs?regex=" + url.QueryEscape(strings.Repeat(`(\pL{1000})*`, 20)), "at most 1000"},
		{"/retrieval/data/getData.json?pv=mean_1(T:00000)" + century, "at most 100000000"},
		{"/api/v1/samples?pv=T:00000&points=1000000" + century, "1 to 100000"},
		{"/retrieval/data/getData.json?" + strings.Repeat("pv=A&", 2000), "at most 1000"},
	}
	for i := 0; ctx.Err() == nil; i++ {
		r := requests[i%len(requests)]
		code, body, err := getFrom(ctx, "127.0.0.5", base+r.path)
		if ctx.Err() != nil {
			return
		}
		if err != nil || code != http.StatusBadRequest && code != http.StatusTooManyRequests ||
			code == http.StatusBadRequest && !strings.Contains(body, r.want) {
			t.Errorf("%.80s answers %d %.200s %v", r.path, code, body, err)
		}
	}
}

// Load lasts from least to most. It ends when all limits have refused something, and the other client has
// enough answers.
const (
	leastLoad = 15 * time.Second
	mostLoad  = 2 * time.Minute
	enough    = 20
)

// checkOthers checks that another host is answered, with a range of 100 years too, until each limit has
// refused something.
func checkOthers(ctx context.Context, t *testing.T, base, pv string, refused *refusals) {
	answered, longest, begun := 0, time.Duration(0), time.Now()
	for ; time.Since(begun) < leastLoad || len(refused.missing()) > 0 || answered < enough; wait(ctx, 100*time.Millisecond) {
		if time.Since(begun) > mostLoad {
			t.Errorf("another client got %d answers; these limits have refused nothing: %q", answered, refused.missing())
			break
		}
		for _, path := range []string{
			"/retrieval/data/getData.json?pv=" + pv, "/readyz", "/mgmt/bpl/getAllPVs?pv=T:*",
			"/api/v1/samples?points=1000&from=1930-01-01T00:00:00Z&to=2030-01-01T00:00:00Z&pv=" + pv,
		} {
			start := time.Now()
			code, body, err := getFrom(ctx, "127.0.0.2", base+path)
			if ctx.Err() != nil { // the test ends
				return
			}
			if err != nil || code != http.StatusOK {
				t.Errorf("another client gets %d %.200s %v for %s", code, body, err, path)
			}
			answered, longest = answered+1, max(longest, time.Since(start))
		}
	}
	checkLargeBody(ctx, t, base)
	t.Logf("another client got %d answers, the slowest in %v", answered, longest)
}

// checkLargeBody checks that a body with a byte more than a MiB is refused.
func checkLargeBody(ctx context.Context, t *testing.T, base string) {
	const size = 1<<20 + 1
	conn, hangUp, err := dialFrom(ctx, "127.0.0.6", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Error(err)
		return
	}
	defer hangUp()
	_, err = fmt.Fprintf(conn, "POST /mgmt/bpl/getPVStatus HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("A", size))
	if err != nil {
		t.Error(err)
		return
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of %d bytes gets %s", size, res.Status)
	}
}

// getFrom sends a request from a local address.
func getFrom(ctx context.Context, host, u string) (code int, body string, err error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns the archiver's peak memory in bytes, or 0 where the kernel does not report it.
func peak(t *testing.T, a *program.Archiver) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.Cmd.Process.Pid))
	m := highWater.FindSubmatch(status)
	if err != nil || m == nil {
		return 0
	}
	kB, _ := strconv.Atoi(string(m[1]))
	return kB << 10
}
