package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

const second = int64(1e9)

// noon is the middle of the day of most samples.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const path = "/api/v1/files/SR:I/2026-03-01.parquet"

// rig is an archive with a handler and a clock that tests set.
type rig struct {
	t       *testing.T
	store   store.Store
	now     atomic.Int64 // ns since 1970
	handler *Handler
	url     string
	blocks  uint32
}

// newRig returns an archive a day after noon.
func newRig(t *testing.T, memory int64) *rig {
	t.Helper()
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	r := &rig{t: t, store: st}
	r.now.Store(noon.Add(24 * time.Hour).UnixNano())
	mux := http.NewServeMux()
	r.handler = &Handler{
		Reader: &query.Reader{Store: st, Shards: 4, Now: r.now.Load}, Memory: memory,
		Now: func() time.Time { return time.Unix(0, r.now.Load()) }, Log: slog.New(slog.DiscardHandler),
	}
	r.handler.Register(mux)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	r.url = srv.URL
	return r
}

// put stores samples as a block, whose bytes spoil changes.
func (r *rig) put(pv string, run *sample.Run, spoil func([]byte) []byte) {
	r.t.Helper()
	at := run.Times[0]
	if err := r.store.AddChannel(r.t.Context(), store.Channel{PV: pv, Shards: []int{0}, Types: []sample.Type{run.Type}, Starts: []store.Bucket{store.Year.Of(at)}}); err != nil {
		r.t.Fatal(err)
	}
	blob := block.AppendStored(nil, run)
	if spoil != nil {
		blob = spoil(blob)
	}
	r.blocks++
	if err := r.store.PutBlocks(r.t.Context(), store.Block{
		BlockKey: store.BlockKey{PV: pv, Bucket: store.Year.Of(at), Start: at, Writer: store.WriterID{1}, N: r.blocks},
		End:      run.Times[run.Len()-1], Count: run.Len(), Type: run.Type, Blob: blob,
	}); err != nil {
		r.t.Fatal(err)
	}
}

// floats returns doubles, one per second.
func floats(from time.Time, values ...float64) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for i, v := range values {
		r.Append(&sample.Sample{Time: from.UnixNano() + int64(i)*second, Word: math.Float64bits(v)})
	}
	return r
}

// words returns samples of a Fixed type, one per second.
func words(t sample.Type, from time.Time, values ...uint64) *sample.Run {
	r := &sample.Run{Type: t}
	for i, w := range values {
		r.Append(&sample.Sample{Time: from.UnixNano() + int64(i)*second, Word: w})
	}
	return r
}

// get requests a path. headers are names and values.
func (r *rig) get(path string, headers ...string) (*http.Response, []byte) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res, body
}

// problem returns the text of an error.
func problem(body []byte) string {
	var p struct{ Error string }
	if json.Unmarshal(body, &p) != nil {
		return string(body)
	}
	return p.Error
}

// open opens a whole file.
func (r *rig) open(path string) (*parquet.File, *http.Response) {
	r.t.Helper()
	res, body := r.get(path)
	if res.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %d %s", path, res.StatusCode, body)
	}
	f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		r.t.Fatal(err)
	}
	return f, res
}

// values returns the column of values, or another one, as texts.
func values(t *testing.T, f *parquet.File, column int) (all []string) {
	t.Helper()
	for _, g := range f.RowGroups() {
		pages := g.ColumnChunks()[column].Pages()
		for {
			p, err := pages.ReadPage()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			list := make([]parquet.Value, p.NumValues())
			if n, err := p.Values().ReadValues(list); err != nil && !errors.Is(err, io.EOF) || n != len(list) {
				t.Fatal(n, err)
			}
			for _, v := range list {
				all = append(all, v.String())
			}
		}
		pages.Close()
	}
	return all
}
