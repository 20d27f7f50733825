// Package archive reads an archive over HTTP, as users' clients do, and finds missing and
// duplicate samples of counting PVs.
//
//	IOC: Counting records ──▶ archiver ── HTTP ──▶ Client ──▶ Holes: missing or duplicate steps
package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"
)

// Client reads an archive. Its methods are safe for concurrent use.
type Client struct {
	// URL is the URL of the HTTP server, without a path.
	URL string
	// HTTP sends the requests. It uses no proxy.
	HTTP *http.Client
}

// NewClient returns a client whose requests time out after patience.
func NewClient(url string, patience time.Duration) *Client {
	return &Client{URL: url, HTTP: &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
}

// Get requests a path and returns the status code and the body.
func (c *Client) Get(path string, q url.Values) (code int, body []byte, err error) {
	resp, body, err := c.fetch(path, q)
	if err != nil {
		return 0, nil, err
	}
	return resp.StatusCode, body, nil
}

// fetch requests a path, and reads the whole answer.
func (c *Client) fetch(path string, q url.Values) (resp *http.Response, body []byte, err error) {
	resp, err = c.HTTP.Get(c.URL + path + "?" + q.Encode())
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp, body, err
}

// Decode requests a path and decodes the answer.
func (c *Client) Decode(path string, q url.Values, into any) error {
	code, body, err := c.Get(path, q)
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

// Event is a numeric sample as an EPICS client sees it.
type Event struct {
	Time             int64 // ns since 1970
	Value            float64
	Severity, Status int
}

// String returns the value and the time of day.
func (e Event) String() string {
	return fmt.Sprintf("%.2f at %s", e.Value, time.Unix(0, e.Time).Format("15:04:05.000"))
}

// Events returns the samples of a PV since the given time. It uses the JSON interface of the
// Archiver Appliance.
func (c *Client) Events(pv string, since time.Time) (events []Event, err error) {
	var answer []struct {
		Data []struct {
			Secs, Nanos      int64
			Val              float64
			Severity, Status int
		}
	}
	q := url.Values{"pv": {pv}, "from": {since.UTC().Format(time.RFC3339Nano)}}
	err = c.Decode("/retrieval/data/getData.json", q, &answer)
	for _, series := range answer {
		for _, d := range series.Data {
			// The answer begins with the last sample before the range.
			if e := (Event{d.Secs*1e9 + d.Nanos, d.Val, d.Severity, d.Status}); e.Time >= since.UnixNano() {
				events = append(events, e)
			}
		}
	}
	return events, err
}

// AllEvents returns the samples of PVs since the given time. It reads several PVs concurrently and
// stops at the first error.
func (c *Client) AllEvents(pvs []string, since time.Time) (map[string][]Event, error) {
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(8)
	lists := make([][]Event, len(pvs))
	for i, pv := range pvs {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() (err error) {
			lists[i], err = c.Events(pv, since)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := make(map[string][]Event, len(pvs))
	for i, pv := range pvs {
		all[pv] = lists[i]
	}
	return all, nil
}

// Mark is an event that explains the data of a PV, such as a disconnection.
type Mark struct {
	Kind, Text string
	Time, End  time.Time
}

// Marks returns the marks of a PV since the given time.
func (c *Client) Marks(pv string, since time.Time) ([]Mark, error) {
	var answer struct{ Marks []Mark }
	err := c.Decode("/api/v1/marks", url.Values{"pv": {pv}, "from": {since.UTC().Format(time.RFC3339Nano)}}, &answer)
	return answer.Marks, err
}

// Channel is the state of a PV.
type Channel struct {
	PV, Group, State, Sampling string
	Received, Stored, Pending  uint64
	Dropped                    map[string]uint64
	Suspected, LostConnections uint64
	Last                       *struct{ Time time.Time }
}

// Channels returns the states of all PVs, up to 10,000.
func (c *Client) Channels() (map[string]Channel, error) {
	var answer struct{ Channels []Channel }
	if err := c.Decode("/api/v1/channels", url.Values{"limit": {"10000"}}, &answer); err != nil {
		return nil, err
	}
	byPV := make(map[string]Channel, len(answer.Channels))
	for _, ch := range answer.Channels {
		byPV[ch.PV] = ch
	}
	return byPV, nil
}

// Summary holds the totals over all PVs.
type Summary struct {
	Channels                  int
	States                    map[string]int
	Received, Stored, Pending uint64
	Dropped                   map[string]uint64
}

// Summary returns the totals over all PVs.
func (c *Client) Summary() (Summary, error) {
	var answer struct{ Total Summary }
	err := c.Decode("/api/v1/status", nil, &answer)
	return answer.Total, err
}
