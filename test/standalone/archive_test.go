package standalone

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// archiver is `varve standalone`, and a client of its HTTP interface.
type archiver struct {
	*process
	url string
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
			a.url = m[1]
		}
		return a.url != ""
	})
	return a
}

var web = http.Client{Timeout: patience, Transport: &http.Transport{}} // of no proxy

// get requests a path and returns the status code and the body.
func (a *archiver) get(path string, q url.Values) (code int, body []byte) {
	a.t.Helper()
	code, body, err := a.request(path, q)
	if err != nil {
		a.t.Fatal(err)
	}
	return code, body
}

func (a *archiver) request(path string, q url.Values) (code int, body []byte, err error) {
	resp, err := web.Get(a.url + path + "?" + q.Encode())
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// decode requests a path and decodes the answer.
func (a *archiver) decode(path string, q url.Values, into any) {
	a.t.Helper()
	if err := a.tryDecode(path, q, into); err != nil {
		a.t.Fatal(err)
	}
}

func (a *archiver) tryDecode(path string, q url.Values, into any) error {
	code, body, err := a.request(path, q)
	if err != nil {
		return err
	}
	if code != http.StatusOK {
		return fmt.Errorf("%s?%s answers %d: %s", path, q.Encode(), code, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("decoding the answer of %s: %w\n%.300s", path, err, body)
	}
	return nil
}

// event is a sample of a number, as an EPICS client sees it.
type event struct {
	Time             int64 // ns since 1970
	Value            float64
	Severity, Status int
}

func (e event) String() string {
	return fmt.Sprintf("%.2f at %s", e.Value, time.Unix(0, e.Time).Format("15:04:05.000"))
}

// events returns the samples of a PV since a time, as the Archiver Appliance's
// clients read them.
func (a *archiver) events(pv string, since time.Time) []event {
	a.t.Helper()
	events, err := a.read(pv, since)
	if err != nil {
		a.t.Fatal(err)
	}
	return events
}

func (a *archiver) read(pv string, since time.Time) (events []event, err error) {
	var answer []struct {
		Data []struct {
			Secs, Nanos      int64
			Val              float64
			Severity, Status int
		}
	}
	q := url.Values{"pv": {pv}, "from": {since.UTC().Format(time.RFC3339Nano)}}
	err = a.tryDecode("/retrieval/data/getData.json", q, &answer)
	for _, series := range answer {
		for _, d := range series.Data {
			// The answer begins with the last sample before the range.
			if e := (event{d.Secs*1e9 + d.Nanos, d.Val, d.Severity, d.Status}); e.Time >= since.UnixNano() {
				events = append(events, e)
			}
		}
	}
	return events, err
}

// readAll returns the samples of PVs since a time, as several clients read them.
func (a *archiver) readAll(pvs []string, since time.Time) map[string][]event {
	a.t.Helper()
	start := time.Now()
	var g errgroup.Group
	g.SetLimit(8)
	lists := make([][]event, len(pvs))
	for i, pv := range pvs {
		g.Go(func() (err error) {
			lists[i], err = a.read(pv, since)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		a.t.Fatal(err)
	}
	all, samples := map[string][]event{}, 0
	for i, pv := range pvs {
		all[pv] = lists[i]
		samples += len(lists[i])
	}
	a.t.Logf("read %d samples of %d PVs in %.1f s", samples, len(pvs), time.Since(start).Seconds())
	return all
}

// mark is what explains the data of a PV.
type mark struct {
	Kind, Text string
	Time, End  time.Time
}

// marks returns the marks of a PV since a time.
func (a *archiver) marks(pv string, since time.Time) []mark {
	a.t.Helper()
	var answer struct{ Marks []mark }
	a.decode("/api/v1/marks", url.Values{"pv": {pv}, "from": {since.UTC().Format(time.RFC3339Nano)}}, &answer)
	return answer.Marks
}

// channel is the state of a PV.
type channel struct {
	PV, Group, State, Sampling string
	Received, Stored, Pending  uint64
	Dropped                    map[string]uint64
	Last                       *struct{ Time time.Time }
}

// channels returns the state of all PVs.
func (a *archiver) channels() map[string]channel {
	a.t.Helper()
	var answer struct{ Channels []channel }
	a.decode("/api/v1/channels", url.Values{"limit": {"10000"}}, &answer)
	byPV := map[string]channel{}
	for _, c := range answer.Channels {
		byPV[c.PV] = c
	}
	return byPV
}

// summary is the sum over all PVs.
type summary struct {
	Channels                  int
	States                    map[string]int
	Received, Stored, Pending uint64
	Dropped                   map[string]uint64
}

func (a *archiver) summary() summary {
	a.t.Helper()
	var answer struct{ Total summary }
	a.decode("/api/v1/status", nil, &answer)
	return answer.Total
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
