// Package clients reads an archive with aapy, archapp and pyarchappl, the Python clients of the EPICS
// Archiver Appliance that users run, with pandas, polars, DuckDB and pyarrow, as Phoebus reads the
// Archiver Appliance and the JSON archive access protocol, and as the data source for Grafana reads the
// Archiver Appliance.
//
//	samples ─▶ store ─▶ serve ────▶ HTTP ─▶ testdata/read.py ──────▶ what the clients read, as JSON
//	samples ─▶ store ─▶ serve ────▶ HTTP ─▶ testdata/tables.py ────▶ what programs for data analysis read
//	samples ─▶ store ─▶ serve ─▶ count ─▶ HTTP ─▶ testdata/column.py ─▶ what they read of a column
//	                                         └──▶ testdata/httpfs.py ─▶ the same, with DuckDB's own HTTP client
//	samples ─▶ store ─▶ serve ────▶ HTTP ─▶ testdata/calls.py ─────▶ answers of their other calls, as JSON
//	random samples ─▶ store ─▶ serve ─▶ HTTP ─▶ testdata/differential.py ─▶ differences from the Appliance
//	a real IOC ─▶ varve standalone ─▶ HTTP ─▶ testdata/postprocessors.py ─▶ the same
//	a real IOC ─▶ varve standalone ◀─ HTTP ── testdata/scripts.py: changes of what is archived
package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

const shards = 4

// server serves the PVs from a new store, and returns the URL of the server.
func server(t *testing.T, pvs []pv) *url.URL {
	t.Helper()
	return listen(t, handler(t, pvs))
}

// handler returns the handler of a server of the PVs.
func handler(t *testing.T, pvs []pv) http.Handler {
	t.Helper()
	return handlerOf(t, openStore(t), pvs, time.Now)
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

// handlerOf returns the handler of a server of a store, to which it adds the PVs.
func handlerOf(t *testing.T, st store.Store, pvs []pv, now func() time.Time) http.Handler {
	t.Helper()
	for i := range pvs {
		if err := write(t, st, &pvs[i]); err != nil {
			t.Fatal(err)
		}
	}
	return handlerOver(t, st, pvs, now)
}

// handlerOver returns the handler of a server of a store that has the samples of the PVs.
func handlerOver(t *testing.T, st store.Store, pvs []pv, now func() time.Time) http.Handler {
	t.Helper()
	reg := prometheus.NewRegistry()
	h, err := serve.New(&serve.Config{
		Reader:   &query.Reader{Store: st, Shards: shards, Now: func() int64 { return now().UnixNano() }},
		Channels: states(pvs), Gatherer: reg, Metrics: serve.NewMetrics(reg),
		Ready: func() error { return nil }, Version: "test", Now: now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func listen(t *testing.T, h http.Handler) *url.URL {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// write stores the samples of a PV. Each sample is a block, or up to perBlock samples of a bucket.
func write(t *testing.T, st store.Store, p *pv) error {
	ctx := t.Context()
	entry := store.Channel{PV: p.name, Shards: []int{0}, Types: []sample.Type{p.run.Type}}
	for _, at := range p.run.Times {
		for _, b := range p.bucketsOf(at) {
			if !slices.Contains(entry.Starts, b) {
				entry.Starts = append(entry.Starts, b)
			}
		}
	}
	if err := st.AddChannel(ctx, entry); err != nil {
		return err
	}
	if err := st.PutMetadata(ctx, store.PVMetadata{PV: p.name, Time: p.run.Times[0], Metadata: p.meta}); err != nil {
		return err
	}
	for i, next := 0, 0; i < p.run.Len(); i = next {
		bucket := store.Month.Of(p.run.Times[i])
		for next++; next < min(i+p.perBlock, p.run.Len()) && p.run.Times[next] < bucket.End(); {
			next++
		}
		one := &sample.Run{Type: p.run.Type}
		one.AppendRange(&p.run, i, next)
		at := one.Times[0]
		for _, b := range p.bucketsOf(at) {
			err := st.PutBlocks(ctx, store.Block{
				BlockKey: store.BlockKey{PV: p.name, Bucket: b, Start: at, Writer: store.WriterID{1}, N: uint32(i)},
				End:      one.Times[one.Len()-1], Count: one.Len(), Type: one.Type, Blob: block.Append(nil, one),
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// python runs a script of testdata and decodes its output into result.
func python(t *testing.T, result any, args ...string) {
	t.Helper()
	pythonOf(t, "clients", result, args...)
}

// pythonOf runs a script in an environment of hack/venv.sh.
func pythonOf(t *testing.T, environment string, result any, args ...string) {
	t.Helper()
	path, err := exec.CommandContext(t.Context(), "../../hack/venv.sh", environment).Output()
	if err != nil {
		t.Fatalf("installing the Python environment %s: %v: %s", environment, err, stderr(err))
	}
	cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(path)), args...)
	cmd.Env = append(os.Environ(), "TZ=Europe/London", "NO_PROXY=*")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running %v: %v\n%s", args, err, stderr(err))
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(result); err != nil {
		t.Fatalf("decoding the output of %v: %v\n%s", args, err, out)
	}
}

func stderr(err error) []byte {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.Stderr
	}
	return nil
}

func hostPort(t *testing.T, u *url.URL) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}
