package ui

import (
	"context"
	"iter"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/engine/serve/native"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

const second = int64(1e9)

// begin is when the known data begins, in ns since 1970.
var begin = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).UnixNano()

// writer is the writer of all data.
var writer = store.WriterID{0xab, 0xcd, 0xef, 0x12}

// archive is an archive with known data and its HTTP server.
type archive struct {
	t      *testing.T
	store  store.Store
	server *httptest.Server
	// prefixed serves the same below the path /archive/, as an Ingress does.
	prefixed *httptest.Server
	blocks   uint32
}

// nobody is an engine that captures no PV.
type nobody struct{}

func (nobody) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(func(capture.Status, error) bool) {}
}

func (nobody) Status(context.Context, string) (s capture.Status, captured bool, err error) {
	return s, false, nil
}

// newArchive returns an archive without data.
func newArchive(t *testing.T) *archive {
	t.Helper()
	return newArchiveOf(t, nobody{})
}

// newArchiveOf returns an archive without data whose engine captures some channels.
func newArchiveOf(t *testing.T, channels native.Channels) *archive {
	t.Helper()
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	reg := prometheus.NewRegistry()
	h, err := serve.New(&serve.Config{
		Reader: &query.Reader{Store: st, Shards: 4}, Channels: channels, Gatherer: reg, Metrics: serve.NewMetrics(reg), Registerer: reg, Reads: 8,
		Ready: func() error { return nil }, Version: "test", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{t: t, store: st, server: httptest.NewServer(h), prefixed: httptest.NewServer(http.StripPrefix("/archive", h))}
	t.Cleanup(a.prefixed.Close)
	t.Cleanup(a.server.Close)
	return a
}

func (a *archive) check(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// put stores samples of one year and their PV.
func (a *archive) put(pv string, run *sample.Run) {
	a.t.Helper()
	ctx, year := context.Background(), store.Year.Of(run.Times[0])
	a.check(a.store.AddChannel(ctx, store.Channel{PV: pv, Shards: []int{0}, Types: []sample.Type{run.Type}, Starts: []store.Bucket{year}}))
	a.blocks++
	a.check(a.store.PutBlocks(ctx, store.Block{
		BlockKey: store.BlockKey{PV: pv, Bucket: year, Start: run.Times[0], Writer: writer, N: a.blocks},
		End:      run.Times[run.Len()-1], Count: run.Len(), Type: run.Type, Blob: block.Append(nil, run),
	}))
}

func (a *archive) metadata(pv string, m sample.Metadata) {
	a.t.Helper()
	a.metadataFrom(pv, -1, m)
}

// metadataFrom stores what holds from a time on, in s after begin.
func (a *archive) metadataFrom(pv string, from int64, m sample.Metadata) {
	a.t.Helper()
	nan := math.NaN()
	if m.Limits() == [8]float64{} {
		m.SetLimits([8]float64{nan, nan, nan, nan, nan, nan, nan, nan})
	}
	a.check(a.store.PutMetadata(context.Background(), store.PVMetadata{PV: pv, Time: begin + from*second, Metadata: m}))
}

func (a *archive) mark(pv string, m sample.Mark) {
	a.t.Helper()
	a.check(a.store.PutMarks(context.Background(), store.PVMark{PV: pv, Writer: writer, Mark: m}))
}

// floats returns a sample per step in [from, to), in s after begin, with the values of a function of
// these seconds.
func floats(from, to, step int64, of func(s float64) float64) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for s := from; s < to; s += step {
		v := of(float64(s))
		tag := sample.MakeTag(sample.NoAlarm, 0)
		if v > 300 {
			tag = sample.MakeTag(sample.Minor, 4)
		}
		r.Append(&sample.Sample{Time: begin + s*second, Word: math.Float64bits(v), Tag: tag})
	}
	return r
}

// fill stores the known data: an hour of a beam current with a gap from 20 to 25 minutes and a loss
// at 40 minutes, and other PVs.
func (a *archive) fill() {
	current := func(s float64) float64 { return 200 + 100*math.Sin(s/300) + 5*math.Sin(s) }
	a.put("SR:CURRENT", floats(0, 1200, 1, current))
	a.put("SR:CURRENT", floats(1500, 3600, 1, current))
	a.metadata("SR:CURRENT", sample.Metadata{Units: "mA", Precision: 2, Properties: []sample.Property{{Name: "DESC", Value: "Beam current"}}})
	for _, m := range []sample.Mark{
		{Time: begin - second, Kind: sample.Connected, Text: "10.0.0.7:5064"},
		{Time: begin + 1200*second, Kind: sample.Disconnected, Text: "10.0.0.7:5064: connection reset"},
		{Time: begin + 1230*second, Kind: sample.Searching, Text: "10.0.0.255:5064"},
		{Time: begin + 1500*second, Kind: sample.Connected, Text: "10.0.0.8:5064"},
		{Time: begin + 2400*second, End: begin + 2410*second, Kind: sample.Lost, Reason: sample.Overrun, Count: 9},
	} {
		a.mark("SR:CURRENT", m)
	}
	a.put("SR:LIFETIME", floats(0, 3600, 60, func(s float64) float64 { return 10 + s/3600 }))
	a.metadata("SR:LIFETIME", sample.Metadata{Units: "h", Precision: 1})
	a.put("SR:CURRENT:REF", floats(0, 3600, 30, func(s float64) float64 { return 200 + 100*math.Sin(s/300) }))
	a.metadata("SR:CURRENT:REF", sample.Metadata{Units: "mA", Precision: 2})
	mode := &sample.Run{Type: sample.Enum}
	for i, at := range []int64{0, 900, 1700, 3000} {
		mode.Append(&sample.Sample{Time: begin + at*second, Word: []uint64{2, 1, 0, 2}[i]})
	}
	a.put("SR:MODE", mode)
	a.metadata("SR:MODE", sample.Metadata{Labels: []string{"Off", "Injection", "User beam"}})
}
