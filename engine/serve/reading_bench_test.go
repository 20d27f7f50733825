package serve

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

const (
	// benchSamples is how many samples BENCH:LONG has, at 1 Hz, and benchPVs how many PVs have
	// benchEach samples each, at 10 Hz.
	benchSamples = 1_740_000
	benchPVs     = 1000
	benchEach    = 10_000
)

// BenchmarkReading measures the handlers of the answers whose times docs/benchmarks.md lists, without
// a network: the long PV in several formats, and the values of many PVs at a time. cpu-ms/op is the CPU
// time of the whole process, with that of reading ahead and of the garbage collector.
func BenchmarkReading(b *testing.B) {
	h := newBenchArchive(b)
	at := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
	all := "pv=BENCH:LONG&from=" + at(newYear) + "&to=" + at(newYear+(benchSamples-1)*second)
	one := "pv=BENCH:7&from=" + at(newYear) + "&to=" + at(newYear+benchEach*second/10)
	names := make([]string, benchPVs)
	for i := range names {
		names[i] = fmt.Sprintf("BENCH:%d", i)
	}
	for _, c := range []struct{ name, path, body string }{
		{"raw", "/retrieval/data/getData.raw?" + all, ""},
		{"raw_10000", "/retrieval/data/getData.raw?" + one, ""},
		{"json", "/retrieval/data/getData.json?" + all, ""},
		{"bins_1000", "/api/v1/samples?points=1000&" + all, ""},
		{"parquet", "/api/v1/samples?format=parquet&" + all, ""},
		{"csv", "/api/v1/samples?format=csv&" + all, ""},
		{"at_time_1000", "/retrieval/data/getDataAtTime?at=" + at(newYear+benchEach/2*second/10), `["` + strings.Join(names, `","`) + `"]`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			used, bytes := cpuTime(), 0
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, c.path, nil)
				if c.body != "" {
					r = httptest.NewRequestWithContext(b.Context(), http.MethodPost, c.path, strings.NewReader(c.body))
					r.Header.Set("Content-Type", "application/json")
				}
				w := discarded{header: http.Header{}}
				h.ServeHTTP(&w, r)
				if w.code != http.StatusOK && w.code != 0 || w.bytes == 0 {
					b.Fatalf("%s answers %d with %d bytes", c.path, w.code, w.bytes)
				}
				bytes = w.bytes
			}
			b.ReportMetric((cpuTime()-used).Seconds()*1e3/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(bytes), "B-answer")
		})
	}
}

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for RUSAGE_SELF
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// discarded counts the bytes of an answer.
type discarded struct {
	header http.Header
	code   int
	bytes  int
}

func (d *discarded) Header() http.Header { return d.header }

func (d *discarded) WriteHeader(code int) { d.code = code }

func (d *discarded) Write(p []byte) (int, error) {
	d.bytes += len(p)
	return len(p), nil
}

// newBenchArchive returns the handler of an archive in Pebble with readings of a 12-bit ADC.
func newBenchArchive(b *testing.B) http.Handler {
	st, err := pebble.Open(b.TempDir(), pebble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	f := benchFill{B: b, st: st, rng: rand.New(rand.NewPCG(5, 1))}
	f.add("BENCH:LONG", benchSamples, second, store.LevelOf(time.Minute, store.Forever))
	for i := range benchPVs {
		f.add(fmt.Sprintf("BENCH:%d", i), benchEach, second/10)
	}
	reg := prometheus.NewRegistry()
	h, err := New(&Config{
		Reader: &query.Reader{Store: st, Shards: 1}, Channels: &channels{}, Reads: 8, Registerer: reg, Gatherer: reg, Metrics: NewMetrics(reg),
		Ready: func() error { return nil }, Version: "bench", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	return h
}

// benchFill stores PVs as a sealer does.
type benchFill struct {
	*testing.B
	st  store.Store
	rng *rand.Rand
}

func (f *benchFill) check(err error) {
	if err != nil {
		f.Helper()
		f.Fatal(err)
	}
}

// add stores n samples of a PV from the new year on, and their bins of the levels.
func (f *benchFill) add(pv string, n int, step int64, levels ...store.Level) {
	f.check(f.st.AddChannel(f.Context(), store.Channel{
		PV: pv, Shards: []int{0}, Types: []sample.Type{sample.Float64}, Starts: []store.Bucket{store.Year.Of(newYear)}, Levels: levels,
	}))
	accs, bins := make([]*rollup.Accumulator, len(levels)), make([][]rollup.Bin, len(levels))
	for i, l := range levels {
		accs[i] = rollup.NewAccumulator(int64(l.Every()))
	}
	for k := 0; k < n; {
		r := &sample.Run{Type: sample.Float64}
		for ; k < n && r.Len() < 4096; k++ {
			v := math.Round((5+f.rng.NormFloat64()/10)*4096/10) / 4096 * 10
			r.Append(&sample.Sample{Time: newYear + int64(k)*step, Word: math.Float64bits(v)})
		}
		f.check(f.st.PutBlocks(f.Context(), store.Block{
			BlockKey: store.BlockKey{PV: pv, Bucket: store.Year.Of(newYear), Start: r.Times[0], Writer: store.WriterID{1}},
			End:      r.Times[r.Len()-1], Count: r.Len(), Type: r.Type, Blob: block.AppendStored(nil, r),
		}))
		for i := range accs {
			bins[i] = accs[i].Add(bins[i], r, 0, r.Len())
		}
	}
	for i, l := range levels {
		f.tiles(pv, l, bins[i])
	}
}

// tiles stores the bins of a level.
func (f *benchFill) tiles(pv string, l store.Level, bins []rollup.Bin) {
	for len(bins) > 0 {
		t, n := l.Tile(bins[0].Start), 0
		for n < len(bins) && l.Tile(bins[n].Start) == t {
			n++
		}
		row := rollup.Tile{Level: l, Tile: t, Since: max(l.Start(t), newYear), Through: bins[n-1].End(), Bins: bins[:n]}
		f.check(f.st.PutRollups(f.Context(), store.Rollup{PV: pv, Level: l, Tile: t, Stamp: 1, Blob: rollup.Append(nil, &row)}))
		bins = bins[n:]
	}
}
