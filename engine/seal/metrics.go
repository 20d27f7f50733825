package seal

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"varve.dev/varve/engine/store"
)

// Metrics of all sealers of an engine.
type Metrics struct {
	// Samples counts those sealed, once each; Blocks and Bytes what was written,
	// also when a block was written again.
	Samples, Blocks, Bytes prometheus.Counter
	// Adopted counts runs taken over from other writers.
	Adopted                    prometheus.Counter
	Retries, Failures, Corrupt prometheus.Counter
	Duration                   prometheus.Histogram
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "seal", Name: name, Help: help})
	}
	return &Metrics{
		Samples:  counter("samples_total", "Samples sealed into blocks."),
		Blocks:   counter("blocks_total", "Blocks written, also those written again as they grew."),
		Bytes:    counter("bytes_total", "Bytes of blocks written."),
		Adopted:  counter("adopted_runs_total", "Runs of samples of other writers that were sealed."),
		Retries:  counter("retries_total", "Operations on the store that failed and were tried again."),
		Failures: counter("failures_total", "Checkpoints that failed."),
		Corrupt:  counter("corrupt_rows_total", "Journal rows that could not be read."),
		Duration: f.NewHistogram(prometheus.HistogramOpts{
			Namespace: "varve", Subsystem: "seal", Name: "checkpoint_seconds", Help: "Time a checkpoint of a shard took.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10),
		}),
	}
}

func (m *Metrics) wrote(blocks []store.Block, samples int) {
	m.Samples.Add(float64(samples))
	m.Blocks.Add(float64(len(blocks)))
	for i := range blocks {
		m.Bytes.Add(float64(len(blocks[i].Blob)))
	}
}
