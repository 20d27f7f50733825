package shards

import (
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/controllers/placement"
)

// shardsMetrics are the metrics of compilations, writes and moves.
type shardsMetrics struct {
	compiles       prometheus.Counter
	compileSeconds prometheus.Histogram
	lists, shards  prometheus.Counter
	moves          *prometheus.CounterVec
	undone         prometheus.Counter
	moveSeconds    prometheus.Histogram
}

func newShardsMetrics(r prometheus.Registerer) *shardsMetrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &shardsMetrics{
		compiles: counter("varve_operator_compiles_total", "Compilations of the groups of an Archiver."),
		compileSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "varve_operator_compile_seconds", Help: "Duration of a compilation, without writing its result.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}),
		lists:  counter("varve_operator_channel_lists_written_total", "Channel lists written."),
		shards: counter("varve_operator_shards_written_total", "ArchiveShards written."),
		moves: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_operator_moves_total", Help: "Moves of shards to another engine that began, by reason.",
		}, []string{"reason"}),
		undone: counter("varve_operator_moves_undone_total", "Moves given up because the engine did not start to capture the shard in time."),
		moveSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "varve_operator_moves_seconds", Help: "Duration of a wave of moves: from the first move until none is under way.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 12),
		}),
	}
	// increase() in an alert sees the first move only if the counter was 0 before.
	m.moves.WithLabelValues(string(placement.Blind))
	r.MustRegister(m.compiles, m.compileSeconds, m.lists, m.shards, m.moves, m.undone, m.moveSeconds)
	return m
}
