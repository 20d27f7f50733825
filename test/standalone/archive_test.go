package standalone

import (
	"fmt"
	"net/url"
	"regexp"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
)

// archiver is `varve standalone`, and a client of its HTTP interface.
type archiver struct {
	*process
	*archive.Client
}

// serving is what the log says once the address is bound.
var serving = regexp.MustCompile(`msg=serving url=(\S+)`)

// standalone starts `varve standalone` on a free port and waits until it serves.
func standalone(t *testing.T, env []string, args ...string) *archiver {
	t.Helper()
	args = append([]string{"standalone", "--listen", "127.0.0.1:0"}, args...)
	a := &archiver{process: launch(t, env, args...)}
	eventually(t, "varve serves", func() bool {
		select {
		case <-a.ended:
			t.Fatalf("varve ended: %v", a.cmd.ProcessState)
		default:
		}
		if m := serving.FindStringSubmatch(a.log.String()); m != nil {
			a.Client = archive.NewClient(m[1], patience)
		}
		return a.Client != nil
	})
	return a
}

// get requests a path and returns the status code and the body.
func (a *archiver) get(path string, q url.Values) (code int, body []byte) {
	a.t.Helper()
	code, body, err := a.Get(path, q)
	if err != nil {
		a.t.Fatal(err)
	}
	return code, body
}

// must returns what a request answered, and fails the test for an error.
func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// events returns the samples of a PV since a time.
func (a *archiver) events(pv string, since time.Time) []archive.Event {
	a.t.Helper()
	events, err := a.Events(pv, since)
	return must(a.t, events, err)
}

// readAll returns the samples of PVs since a time.
func (a *archiver) readAll(pvs []string, since time.Time) map[string][]archive.Event {
	a.t.Helper()
	start := time.Now()
	all, err := a.AllEvents(pvs, since)
	samples := 0
	for _, events := range must(a.t, all, err) {
		samples += len(events)
	}
	a.t.Logf("read %d samples of %d PVs in %.1f s", samples, len(pvs), time.Since(start).Seconds())
	return all
}

// marks returns the marks of a PV since a time.
func (a *archiver) marks(pv string, since time.Time) []archive.Mark {
	a.t.Helper()
	marks, err := a.Marks(pv, since)
	return must(a.t, marks, err)
}

// channels returns the state of all PVs.
func (a *archiver) channels() map[string]archive.Channel {
	a.t.Helper()
	channels, err := a.Channels()
	return must(a.t, channels, err)
}

// summary returns the sum over all PVs.
func (a *archiver) summary() archive.Summary {
	a.t.Helper()
	sum, err := a.Summary()
	return must(a.t, sum, err)
}

// awaitConnected waits until n PVs are connected.
func (a *archiver) awaitConnected(n int) {
	a.t.Helper()
	eventually(a.t, fmt.Sprintf("%d PVs are connected", n), func() bool { return a.summary().States["connected"] == n })
}

// awaitSamples waits until n PVs have samples, and returns when that was.
func (a *archiver) awaitSamples(n int) time.Time {
	a.t.Helper()
	a.awaitConnected(n)
	least := a.summary().Received + uint64(n)
	eventually(a.t, "PVs have samples", func() bool { return a.summary().Received >= least })
	return time.Now()
}
