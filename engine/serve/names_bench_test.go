package serve

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/nameindex/nameindextest"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// BenchmarkNames measures the handlers of searches for names in an archive of a million PVs, without a network. All PVs are
// captured and in the directory. cpu-ms/op is the CPU time of the whole process. Readers have an index of names, or scan the
// directory, as before there was an index.
func BenchmarkNames(b *testing.B) {
	b.Run("index", func(b *testing.B) { benchNames(b, newNamesArchive(b, nameindextest.Count, true), "") })
	b.Run("scan", func(b *testing.B) {
		benchNames(b, newNamesArchive(b, nameindextest.Count, false), "getAllPVs glob_prefix regex_substring regex_no_literal native_next_page status_glob")
	})
}

// benchNames measures all searches, or some.
func benchNames(b *testing.B, h http.Handler, some string) {
	regex := func(s string) string { return "/retrieval/bpl/searchForPVsRegex?regex=" + url.QueryEscape(s) }
	for _, c := range []struct{ name, path string }{
		{"getAllPVs", "/mgmt/bpl/getAllPVs?limit=-1"},
		{"getAllPVs_500", "/mgmt/bpl/getAllPVs"},
		{"glob_prefix", "/retrieval/bpl/getMatchingPVs?limit=-1&pv=SR-C12:PS:*"},
		{"glob_substring", "/retrieval/bpl/getMatchingPVs?limit=-1&pv=*:QF1:Current-I*"},
		{"glob_short_substring", "/retrieval/bpl/getMatchingPVs?pv=*QF1*"},
		{"glob_any", "/retrieval/bpl/getMatchingPVs?limit=-1&pv=*-C?2*Sts:?n-*"},
		{"regex_prefix", regex("SR-C12:PS:.*")},
		{"regex_choice", regex("(SR|BR)-C0[1-3]:PS:QF1:.*")},
		{"regex_substring", regex(".*:QF1:Current-I.*")},
		{"regex_end", regex(".*:Q[FD][0-9]:Dose-I")},
		{"regex_no_literal", regex(".*C[0-9]{2}.*[XY]-Wf")},
		{"regex_ignoring_case", regex("(?i).*qf1:current.*")},
		{"regex_nothing", regex(".*NOSUCHNAME.*")},
		{"native_first_page", "/api/v1/names?limit=100"},
		{"native_next_page", "/api/v1/names?limit=100&after=" + url.QueryEscape("LT-C20:VA:SF2:Amp-I")},
		{"native_substring", "/api/v1/names?ignoreCase=true&limit=20&pv=*qf1:curr*"},
		{"native_near", "/api/v1/names?near=SR-C12:PS:QF1:Curr-I"},
		{"status_glob", "/mgmt/bpl/getPVStatus?pv=SR-C12:PS:*"},
		{"status_glob_large", "/mgmt/bpl/getPVStatus?pv=SR-C1?:*"},
		{"prometheus_names", "/prometheus/api/v1/label/__name__/values?match[]=" + url.QueryEscape(`{__name__=~"SR-C12.*Current-I"}`)},
	} {
		if some != "" && !slices.Contains(strings.Fields(some), c.name) {
			continue
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			used, bytes := cpuTime(), 0
			for b.Loop() {
				w := discarded{header: http.Header{}}
				h.ServeHTTP(&w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, c.path, nil))
				if w.code != http.StatusOK && w.code != 0 {
					b.Fatalf("%s answers %d", c.path, w.code)
				}
				bytes = w.bytes
			}
			b.ReportMetric((cpuTime()-used).Seconds()*1e3/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(bytes), "B-answer")
		})
	}
}

// connectedChannels are the states of connected PVs, all alike.
type connectedChannels struct {
	sorted []string
	set    map[string]struct{}
}

func (c *connectedChannels) of(pv string) capture.Status {
	return capture.Status{PV: pv, Group: "bench/all", State: capture.Connected, Since: newYear, Connects: 1, Type: sample.Float64, Sampling: "Monitor"}
}

func (c *connectedChannels) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		for _, pv := range c.sorted {
			if !yield(c.of(pv), nil) {
				return
			}
		}
	}
}

func (c *connectedChannels) Status(_ context.Context, pv string) (capture.Status, bool, error) {
	_, is := c.set[pv]
	return c.of(pv), is, nil
}

// newNamesArchive returns the handler of an archive in Pebble with n PVs, which have directory entries and no samples.
func newNamesArchive(b *testing.B, n int, indexed bool) http.Handler {
	st, err := pebble.Open(b.TempDir(), pebble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	all := nameindextest.Names(n)
	fillDirectory(b, st, all)
	captured := &connectedChannels{sorted: slices.Sorted(slices.Values(all)), set: map[string]struct{}{}}
	for _, pv := range all {
		captured.set[pv] = struct{}{}
	}
	before := heap()
	reader := &query.Reader{Store: st, Shards: 4, Captured: capturedNames(all).Names}
	if indexed {
		reader.Index = nameindex.New(nameindex.Config{Store: st, Captured: capturedNames(all)})
	}
	reg := prometheus.NewRegistry()
	h, err := New(&Config{
		Reader: reader, Channels: captured, Reads: 8, Registerer: reg, Gatherer: reg, Metrics: NewMetrics(reg),
		Ready: func() error { return nil }, Version: "bench", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	h.ServeHTTP(&discarded{header: http.Header{}}, httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/mgmt/bpl/getAllPVs", nil))
	b.Logf("the first search keeps %.1f bytes per name", float64(heap()-before)/float64(n))
	return h
}

// fillDirectory adds PVs to the directory as sealers do. Many do it at a time, because each write waits for the disk.
func fillDirectory(b *testing.B, st store.Store, all []string) {
	var wg sync.WaitGroup
	for part := range slices.Chunk(all, max(1, len(all)/256)) {
		wg.Go(func() {
			for _, pv := range part {
				if err := st.AddChannel(b.Context(), store.Channel{
					PV: pv, Shards: []int{1}, Types: []sample.Type{sample.Float64}, Starts: []store.Bucket{store.Year.Of(newYear)},
					Levels: []store.Level{store.LevelOf(time.Minute, store.Forever), store.LevelOf(time.Hour, store.Forever)},
				}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// heap returns the bytes of the Go heap that are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestNamesOfTheBenchmarkAreDifferent makes sure that the benchmark has as many PVs as it says.
func TestNamesOfTheBenchmarkAreDifferent(t *testing.T) {
	all := nameindextest.Names(nameindextest.Count)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != nameindextest.Count {
		t.Errorf("there are %d names", n)
	}
	if !strings.Contains(strings.Join(all[:1000], " "), "BR-C01:DI:") {
		t.Error(fmt.Sprint(all[:10]))
	}
}
