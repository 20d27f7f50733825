package seal

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"varve.dev/varve/engine/relocation"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/tiling"
)

// Metrics contains the metrics of all sealers of an engine.
type Metrics struct {
	// Samples counts each sealed sample once. Blocks and Bytes count each write of a block,
	// because a growing block is written several times.
	Samples, Blocks, Bytes prometheus.Counter
	// Expired counts the samples that were too old to be put into a block.
	Expired prometheus.Counter
	// ExpiredRows counts journal rows that the store no longer had when they were to be sealed, as
	// far as their number is known.
	ExpiredRows prometheus.Counter
	// RenewedRows counts unsealed journal rows that were written again so that they do not expire.
	RenewedRows prometheus.Counter
	// Refused counts how often the samples of a PV could not be sealed at a checkpoint.
	Refused prometheus.Counter
	// Adopted counts the runs of other writers that were sealed.
	Adopted                    prometheus.Counter
	Retries, Failures, Damaged prometheus.Counter
	Duration                   prometheus.Histogram
	Tiling                     *tiling.Metrics
	Relocation                 *relocation.Metrics
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "seal", Name: name, Help: help})
	}
	m := &Metrics{
		Samples:     counter("samples_total", "Samples sealed into blocks."),
		Expired:     counter("expired_samples_total", "Samples that were too old to be kept when they were sealed."),
		ExpiredRows: counter("expired_rows_total", "Journal rows that expired before they were sealed: at least so many."),
		Refused:     counter("refused_total", "How often a checkpoint left samples of a PV in the journal because the store refused them."),
		RenewedRows: counter("renewed_rows_total", "Unsealed journal rows that were written again before they expired."),
		Blocks:      counter("blocks_total", "Writes of blocks; a growing block is written several times."),
		Bytes:       counter("bytes_total", "Bytes of blocks written."),
		Adopted:     counter("adopted_runs_total", "Runs of samples of other writers that were sealed."),
		Retries:     counter("retries_total", "Operations of the store that failed and were retried."),
		Failures:    counter("failures_total", "Checkpoints that failed."),
		Damaged:     counter("damaged_objects_total", "Blocks, journal rows, directory entries and rollup tiles that could not be read."),
		Duration: f.NewHistogram(prometheus.HistogramOpts{
			Namespace: "varve", Subsystem: "seal", Name: "checkpoint_seconds", Help: "Duration of a checkpoint of a shard.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10),
		}),
	}
	m.Tiling = tiling.NewMetrics(reg, m.Damaged)
	m.Relocation = relocation.NewMetrics(reg, m.Failures)
	return m
}

func (m *Metrics) wrote(blocks []store.Block, samples int) {
	m.Samples.Add(float64(samples))
	m.Blocks.Add(float64(len(blocks)))
	for i := range blocks {
		m.Bytes.Add(float64(len(blocks[i].Blob)))
	}
}
