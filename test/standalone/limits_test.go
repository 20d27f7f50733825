package standalone

import (
	"context"
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
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// mostResident is the limit of the resident memory under hostile requests. About 200 MiB of it
// belong to the store and the runtime.
const mostResident = 500 << 20

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

	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	var load sync.WaitGroup
	host := strings.TrimPrefix(a.URL, "http://")
	for range 300 {
		load.Go(func() { postSlowly(ctx, host) })
	}
	for i := range 100 {
		load.Go(func() { readSlowly(ctx, host, fmt.Sprintf("/retrieval/data/getData.json?pv=ARRAY:%d", i%arrays)) })
	}
	load.Go(func() { askTooMuch(ctx, t, a.URL) })
	checkOthers(ctx, t, a.URL, pvs[0])
	load.Wait()

	if peak := peak(t, a); peak > mostResident {
		t.Errorf("the archiver's peak memory was %d MiB, more than %d", peak>>20, mostResident>>20)
	} else {
		t.Logf("the archiver's peak memory was %d MiB", peak>>20)
	}
	a.GoOn(time.Second)
	checkHoles(t, a.ReadAll(pvs, begin))
}

// postSlowly sends a byte of a body now and then, as often as the server lets it.
func postSlowly(ctx context.Context, host string) {
	for ctx.Err() == nil {
		conn, err := net.Dial("tcp4", host)
		if err != nil {
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		_, err = fmt.Fprintf(conn, "POST /mgmt/bpl/getPVStatus HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", 1<<20)
		for ; err == nil && ctx.Err() == nil; wait(ctx, 100*time.Millisecond) {
			_, err = conn.Write(make([]byte, 1<<10))
		}
		stop()
		_ = conn.Close()
	}
}

// readSlowly reads a few bytes of an answer at a time.
func readSlowly(ctx context.Context, host, path string) {
	for ctx.Err() == nil {
		conn, err := net.Dial("tcp4", host)
		if err != nil {
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		for b := make([]byte, 100); err == nil && ctx.Err() == nil; wait(ctx, 100*time.Millisecond) {
			_, err = conn.Read(b)
		}
		stop()
		_ = conn.Close()
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
		code, body, err := getFrom(ctx, "127.0.0.1", base+r.path)
		if ctx.Err() != nil {
			return
		}
		if err != nil || code != http.StatusBadRequest && code != http.StatusServiceUnavailable ||
			code == http.StatusBadRequest && !strings.Contains(body, r.want) {
			t.Errorf("%.80s answers %d %.200s %v", r.path, code, body, err)
		}
	}
}

// checkOthers checks that another host is answered, with a range of 100 years too.
func checkOthers(ctx context.Context, t *testing.T, base, pv string) {
	answered, longest := 0, time.Duration(0)
	for ctx.Err() == nil {
		for _, path := range []string{
			"/retrieval/data/getData.json?pv=" + pv, "/readyz", "/mgmt/bpl/getAllPVs?pv=T:*",
			"/api/v1/samples?points=1000&from=1930-01-01T00:00:00Z&to=2030-01-01T00:00:00Z&pv=" + pv,
		} {
			start := time.Now()
			code, body, err := getFrom(ctx, "127.0.0.2", base+path)
			if ctx.Err() != nil {
				break
			}
			if err != nil || code != http.StatusOK {
				t.Errorf("another client gets %d %.200s %v for %s", code, body, err, path)
			}
			answered, longest = answered+1, max(longest, time.Since(start))
		}
		wait(ctx, 100*time.Millisecond)
	}
	t.Logf("another client got %d answers, the slowest in %v", answered, longest)
	if answered < 20 {
		t.Errorf("another client got only %d answers", answered)
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
