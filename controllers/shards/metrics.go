package shards

import "github.com/prometheus/client_golang/prometheus"

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
		compiles: counter("varve_operator_compiles_total", "Compilations of an Archiver's groups."),
		compileSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "varve_operator_compile_seconds", Help: "Time that a compilation took, without writing.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}),
		lists:  counter("varve_operator_channel_lists_written_total", "Channel lists that were written."),
		shards: counter("varve_operator_shards_written_total", "ArchiveShards that were written."),
		moves: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_operator_moves_total", Help: "Shards that got another engine, by reason.",
		}, []string{"reason"}),
		undone: counter("varve_operator_moves_undone_total", "Moves that were given up because the engine did not come to capture the shard."),
		moveSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "varve_operator_moves_seconds", Help: "Time from when shards began to move until none was under way.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 12),
		}),
	}
	r.MustRegister(m.compiles, m.compileSeconds, m.lists, m.shards, m.moves, m.undone, m.moveSeconds)
	return m
}
