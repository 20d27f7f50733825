package capture

import (
	"log/slog"
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// BenchmarkSample measures the way of a sample from the source to the head, for a channel without conditions.
func BenchmarkSample(b *testing.B) {
	mem := journal.NewMemory(1 << 40)
	j := journal.NewShardJournal(0, store.WriterID{1}, &journal.Config{
		Store: ackStore{}, RowBytes: 4096, Memory: mem, Lost: func(string, sample.Mark) {},
		Metrics: journal.NewMetrics(prometheus.NewRegistry(), mem), Log: slog.New(slog.DiscardHandler),
	})
	source := newScript()
	m := NewManager(Config{
		Sources: Sources{CA: source}, ShardJournal: func(int) *journal.ShardJournal { return j },
		Marks: &notes{}, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	defer m.Close()
	m.Apply(Assignment{0: groupOf(Settings{Absolute: 0.5}, "A")})
	sink := source.sink("A")
	sink.Connected(ChannelInfo{Type: sample.Float64, Count: 1})
	b.ReportAllocs()
	var s sample.Sample
	for i := range b.N { // within the deadband, so that memory does not grow
		s.Time, s.Word = int64(i), math.Float64bits(1+float64(i%2)/4)
		sink.Sample(&s)
	}
}
