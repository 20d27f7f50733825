package serve

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

const second = int64(1e9)

// newYear is 2026-01-01T00:00:00Z.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// rig is an archive with its HTTP server.
type rig struct {
	t        *testing.T
	store    store.Store
	channels channels
	handler  http.Handler
	url      string
}

// channels contains the states of PVs, sorted by name.
type channels []capture.Status

func (c *channels) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		for _, s := range *c {
			if s.Group == unreachable && !yield(capture.Status{}, query.ErrNoAnswer) {
				return
			}
			if s.Group != unreachable && !yield(s, nil) {
				return
			}
		}
	}
}

// unreachable is the group of channels whose engine is unreachable.
const unreachable = "unreachable"

func (c *channels) Status(_ context.Context, pv string) (capture.Status, bool, error) {
	for _, s := range *c {
		switch {
		case s.PV == pv && s.Group == unreachable:
			return capture.Status{}, false, fmt.Errorf("requesting the state of %s: %w", pv, query.ErrNoAnswer)
		case s.PV == pv:
			return s, true, nil
		}
	}
	return capture.Status{}, false, nil
}

func openStore(t *testing.T) store.Store {
	t.Helper()
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func newRig(t *testing.T) *rig { return newRigOn(t, openStore(t)) }

func newRigOn(t *testing.T, st store.Store) *rig {
	return newRigWith(t, st, nil)
}

// newRigWith returns an archive whose engines answer for the samples in memory.
func newRigWith(t *testing.T, st store.Store, recent query.Recent) *rig {
	r := &rig{t: t, store: st}
	reg := prometheus.NewRegistry()
	h, err := New(&Config{
		Reader: &query.Reader{Store: st, Shards: 4, Recent: recent}, Channels: &r.channels, Gatherer: reg, Metrics: NewMetrics(reg),
		Ready: func() error { return nil }, Archive: "lab/main", Version: "1.2.3", Now: func() time.Time { return time.Unix(0, newYear) },
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.handler = h
	r.listen()
	return r
}

// listen starts the server of the handler.
func (r *rig) listen() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.handler.ServeHTTP(w, q) }))
	r.t.Cleanup(srv.Close)
	r.url = srv.URL
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// addChannel adds a PV with samples at a time to the directory.
func (r *rig) addChannel(pv string, t sample.Type, at int64) {
	c := store.Channel{PV: pv, Shards: []int{0}}
	if t.Valid() {
		c.Types, c.Starts = []sample.Type{t}, []store.Bucket{store.Year.Of(at)}
	}
	r.check(r.store.AddChannel(context.Background(), c))
}

// put stores a run of samples of one bucket.
func (r *rig) put(pv string, run *sample.Run, n uint32) {
	r.t.Helper()
	r.addChannel(pv, run.Type, run.Times[0])
	r.check(r.store.PutBlocks(context.Background(), store.Block{
		BlockKey: store.BlockKey{PV: pv, Bucket: store.Year.Of(run.Times[0]), Start: run.Times[0], Writer: store.WriterID{1}, N: n},
		End:      run.Times[run.Len()-1], Count: run.Len(), Type: run.Type, Blob: block.Append(nil, run),
	}))
}

// ramp returns n floats, one per second.
func ramp(from int64, n int) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for i := range n {
		r.Append(&sample.Sample{Time: from + int64(i)*second, Word: math.Float64bits(float64(i))})
	}
	return r
}

// do sends a request and returns the response and its body. err is the error of reading
// the body.
func (r *rig) do(method, path, body string, headers ...string) (res *http.Response, text string, err error) {
	r.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, in)
	r.check(err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err = http.DefaultClient.Do(req)
	r.check(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res, string(b), err
}

// get returns the status code and the body.
func (r *rig) get(path string) (int, string) {
	r.t.Helper()
	res, text, err := r.do(http.MethodGet, path, "")
	r.check(err)
	return res.StatusCode, text
}
