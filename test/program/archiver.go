package program

import (
	"fmt"
	"net/url"
	"regexp"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
)

// Archiver is a running archiver and a client of its HTTP interface. If a method of the client
// returns an error, the Archiver's method of the same name fails the test.
type Archiver struct {
	*Process
	*archive.Client
}

// serving matches the log line that the program writes once it has bound its address.
var serving = regexp.MustCompile(`msg=serving url=(\S+)`)

// Standalone starts `varve standalone` on a free port and waits until it accepts requests.
func Standalone(t *testing.T, env []string, args ...string) *Archiver {
	t.Helper()
	return StandaloneOf(t, varve, env, args...)
}

// StandaloneOf is Standalone with the program in a file, such as that of an older release.
func StandaloneOf(t *testing.T, file string, env []string, args ...string) *Archiver {
	t.Helper()
	args = append([]string{"standalone", "--listen", "127.0.0.1:0"}, args...)
	a := &Archiver{Process: launch(t, file, Attributes(), env, args)}
	Eventually(t, "varve accepts requests", func() bool {
		select {
		case <-a.Ended:
			t.Fatalf("varve ended: %v", a.Cmd.ProcessState)
		default:
		}
		if m := serving.FindStringSubmatch(a.Log.String()); m != nil {
			a.Client = archive.NewClient(m[1], Patience)
		}
		return a.Client != nil
	})
	return a
}

// Get requests a path and returns the status code and the body.
func (a *Archiver) Get(path string, q url.Values) (code int, body []byte) {
	a.t.Helper()
	code, body, err := a.Client.Get(path, q)
	if err != nil {
		a.t.Fatal(err)
	}
	return code, body
}

// Decode requests a path and decodes the answer.
func (a *Archiver) Decode(path string, q url.Values, into any) {
	a.t.Helper()
	if err := a.Client.Decode(path, q, into); err != nil {
		a.t.Fatal(err)
	}
}

// must returns v. It fails the test if err is not nil.
func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Events returns the samples of a PV since the given time.
func (a *Archiver) Events(pv string, since time.Time) []archive.Event {
	a.t.Helper()
	events, err := a.Client.Events(pv, since)
	return must(a.t, events, err)
}

// ReadAll returns the samples of PVs since the given time.
func (a *Archiver) ReadAll(pvs []string, since time.Time) map[string][]archive.Event {
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

// Marks returns the marks of a PV since the given time.
func (a *Archiver) Marks(pv string, since time.Time) []archive.Mark {
	a.t.Helper()
	marks, err := a.Client.Marks(pv, since)
	return must(a.t, marks, err)
}

// Channels returns the state of all PVs.
func (a *Archiver) Channels() map[string]archive.Channel {
	a.t.Helper()
	channels, err := a.Client.Channels()
	return must(a.t, channels, err)
}

// Summary returns the sum over all PVs.
func (a *Archiver) Summary() archive.Summary {
	a.t.Helper()
	sum, err := a.Client.Summary()
	return must(a.t, sum, err)
}

// AwaitConnected waits until n PVs are connected.
func (a *Archiver) AwaitConnected(n int) {
	a.t.Helper()
	Eventually(a.t, fmt.Sprintf("%d PVs are connected", n), func() bool { return a.Summary().States["connected"] == n })
}

// AwaitSamples waits until n PVs are connected and n more samples have arrived. It returns the
// current time.
func (a *Archiver) AwaitSamples(n int) time.Time {
	a.t.Helper()
	a.AwaitConnected(n)
	least := a.Summary().Received + uint64(n)
	Eventually(a.t, "samples have arrived", func() bool { return a.Summary().Received >= least })
	return time.Now()
}
