package seal

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/layout/layouttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

func newImporterConfig(t *testing.T) *Config {
	t.Helper()
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &Config{Store: st, Memory: journal.NewMemory(1 << 20), Metrics: NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler)}
}

// lastBefore returns the time of the last sample of PV A at or before a time.
func lastBefore(t *testing.T, cfg *Config, at int64) (last int64) {
	t.Helper()
	c, _, err := cfg.Store.Channel(t.Context(), "A")
	if err != nil {
		t.Fatal(err)
	}
	sc := scan.Scan{Store: cfg.Store, PV: "A", From: at, To: at, Now: noon + 10*hour}
	sc.Prepare(c.Starts)
	if err := sc.Feed(t.Context(), func(r *sample.Run, _, j int) bool { last = r.Times[j-1]; return true }); err != nil {
		t.Fatal(err)
	}
	return last
}

// TestImportedSamplesAreTheLastOnesBeforeLaterBuckets imports samples before those of the archive. A
// reader that begins before the archive's own first sample must find the last imported one, although
// that sample's bucket began earlier.
func TestImportedSamplesAreTheLastOnesBeforeLaterBuckets(t *testing.T) {
	cfg := newImporterConfig(t)
	const own = noon + 100*24*hour
	imported := []int64{noon, noon + 30*24*hour, noon + 60*24*hour, own - 2*hour}
	first := NewImporter("A", 1, false, cfg)
	if _, err := first.Store(t.Context(), layouttest.Numbers(own, own+1)); err != nil {
		t.Fatal(err)
	}
	first.Close()
	m := NewImporter("A", 1, true, cfg)
	defer m.Close()
	for i, at := range imported {
		if expired, err := m.Store(t.Context(), layouttest.Numbers(at)); err != nil || expired > 0 {
			t.Fatal(expired, err)
		}
		if got := lastBefore(t, cfg, own-1); got != at {
			t.Errorf("after %d samples, the last one is that of %d, want %d", i+1, got, at)
		}
	}
	if got := lastBefore(t, cfg, own+hour); got != own+1 {
		t.Errorf("the archive's own last sample is that of %d", got)
	}
}

// bucketCounter counts the reads of buckets.
type bucketCounter struct {
	Store
	reads int
}

func (s *bucketCounter) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	s.reads++
	return s.Store.Blocks(ctx, pv, b, from, to)
}

func (s *bucketCounter) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (store.Block, bool, error) {
	s.reads++
	return s.Store.LastBlock(ctx, pv, b, at)
}

// TestAResumedImportReadsEmptyBucketsOnce resumes the import of a PV whose last sample is years old.
// There are thousands of empty buckets up to the present. The importer may read them once, but not for each batch.
func TestAResumedImportReadsEmptyBucketsOnce(t *testing.T) {
	cfg := newImporterConfig(t)
	counting := &bucketCounter{Store: cfg.Store}
	cfg.Store = counting
	second := func(at int64) *sample.Run { // so many samples in a second that buckets are short
		times := make([]int64, 4000)
		for i := range times {
			times[i] = at + int64(i)*hour/4000/60
		}
		return layouttest.Numbers(times...)
	}
	past := noon - 3*365*24*hour
	for _, known := range []bool{false, true} {
		m := NewImporter("A", 1, known, cfg)
		for i := range int64(6) {
			before := counting.reads
			if _, err := m.Store(t.Context(), second(past+i*hour)); err != nil {
				t.Fatal(err)
			}
			if n := counting.reads - before; n > 20 && i > 0 {
				t.Errorf("batch %d reads %d buckets (known: %t)", i, n, known)
			}
		}
		m.Close()
		past += 10 * hour
	}
}

// TestImportRefusesPVsWithRollups checks that no tile can lack imported samples.
func TestImportRefusesPVsWithRollups(t *testing.T) {
	cfg := newImporterConfig(t)
	err := cfg.Store.AddChannel(t.Context(), store.Channel{PV: "A", Starts: []store.Bucket{store.Year.Of(noon)}, Levels: []store.Level{store.LevelOf(1e10, store.Forever)}})
	if err != nil {
		t.Fatal(err)
	}
	m := NewImporter("A", 1, true, cfg)
	defer m.Close()
	if _, err := m.Store(t.Context(), layouttest.Numbers(noon)); !errors.Is(err, ErrRollups) {
		t.Errorf("the import of a PV with rollups ends with %v", err)
	}
}
