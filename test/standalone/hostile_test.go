package standalone

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/varve/test/program"
)

// TestHostileNetwork checks that PVs without a server, and a name server that sends garbage,
// do not disturb the other PVs.
func TestHostileNetwork(t *testing.T) {
	p := newFixture(t, 20)
	p.write(t, "nobody", program.Group("nobody", "", "NOBODY:SERVES:THIS", "NOR:THIS"))
	garbage, calls := serveGarbage(t)
	a := program.Standalone(t, append(p.ClientEnv(), "EPICS_CA_NAME_SERVERS="+garbage), "-f", p.groups, "--data", t.TempDir())
	begin := a.AwaitSamples(len(p.pvs))
	program.Eventually(t, "clients have connected to the garbage server twice", func() bool { return calls() >= 2 })
	a.GoOn(2 * time.Second)
	checkHoles(t, a.ReadAll(p.pvs, begin))
	for _, pv := range []string{"NOBODY:SERVES:THIS", "NOR:THIS"} {
		if c := a.Channels()[pv]; c.State != "searching" {
			t.Errorf("%s is %q, want searching", pv, c.State)
		}
	}
	if s := a.Summary(); s.States["connected"] != len(p.pvs) || s.States["searching"] != 2 {
		t.Errorf("states are %v", s.States)
	}
	checkUnknown(t, a, "NOT:IN:ANY:GROUP")
}

// checkUnknown fails the test unless every read of a PV that was never archived fails with a
// message that names the PV.
func checkUnknown(t *testing.T, a *program.Archiver, pv string) {
	t.Helper()
	for _, path := range []string{
		"/retrieval/data/getData.json", "/retrieval/data/getData.raw", "/retrieval/data/getData.csv", "/api/v1/samples", "/api/v1/marks",
	} {
		if code, body := a.Get(path, url.Values{"pv": {pv}}); code != http.StatusNotFound || !strings.Contains(string(body), pv) {
			t.Errorf("%s of an unknown PV answers %d: %s", path, code, body)
		}
	}
	p := program.Launch(t, nil, "get", pv, "--url", a.URL)
	if code := p.Wait(); code != 1 || !strings.Contains(p.Log.String(), pv) {
		t.Errorf("varve get of an unknown PV exits with %d: %s", code, p.Log.String())
	}
}

// serveGarbage accepts circuits and sends random bytes. It returns its address and a function that
// returns the number of accepted circuits.
func serveGarbage(t *testing.T) (addr string, calls func() uint64) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Uint64
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			noise := rand.New(rand.NewPCG(1, n.Add(1)))
			wg.Go(func() { sendGarbage(conn, noise) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String(), n.Load
}

// sendGarbage sends random bytes until the peer closes the connection.
func sendGarbage(conn net.Conn, noise *rand.Rand) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(program.Patience))
	b := make([]byte, 4<<10)
	for err := error(nil); err == nil; {
		for i := range b {
			b[i] = byte(noise.Uint32())
		}
		_, err = conn.Write(b)
	}
}
