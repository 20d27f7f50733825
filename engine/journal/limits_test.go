package journal_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// TestTheLargestValueFitsARow checks that a row has room for the largest value that is
// captured, after the runs before it, even if S2 cannot compress them.
func TestTheLargestValueFitsARow(t *testing.T) {
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	mem := journal.NewMemory(1 << 30)
	j := journal.NewShardJournal(0, store.WriterID{1}, &journal.Config{
		Store: st, Flush: 10 * time.Millisecond, RowBytes: 256 << 10, Memory: mem, Lost: func(string, sample.Mark) {},
		Metrics: journal.NewMetrics(prometheus.NewRegistry(), mem), Log: slog.New(slog.DiscardHandler),
	})
	rng := rand.NewChaCha8([32]byte{1})
	noise := func(n int) []byte {
		b := make([]byte, n)
		_, _ = rng.Read(b)
		return b
	}
	before, h := j.Open("A", sample.String), j.Open("B", sample.Struct)
	small, large := noise(256<<10-100), noise(capture.MaxValueBytes)
	j.Append(before, sample.String, &sample.Sample{Bytes: small})
	j.Append(h, sample.Struct, &sample.Sample{Bytes: large})
	ctx, cancel := context.WithCancel(t.Context())
	unsaved := make(chan int, 1)
	go func() { unsaved <- j.Run(ctx, t.Context()) }()
	if err := j.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	cancel()
	if n := <-unsaved; n != 0 {
		t.Errorf("%d samples unsaved", n)
	}
	largest := 0
	for row, err := range st.Journal(t.Context(), 0, store.WriterID{1}, 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, len(row.Blob))
		runs, err := journal.Find(row, "B")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			if string(r.Value(0)) != string(large) {
				t.Error("the value has changed")
			}
		}
	}
	if largest < len(small)+len(large) || largest > store.MaxBlob {
		t.Errorf("the largest row has %d bytes; %d are allowed", largest, store.MaxBlob)
	}
}
