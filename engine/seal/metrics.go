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
	// Expired counts those that were too old to be put into a block.
	Expired prometheus.Counter
	// Moved counts the blocks copied to another tier, and MovedBytes what they have;
	// Left the buckets dropped after that. Waiting are PVs whose blocks may have to
	// move, or that wait to be dropped where they were.
	Moved, MovedBytes, Left prometheus.Counter
	Waiting                 prometheus.Gauge
	// Adopted counts runs taken over from other writers.
	Adopted                    prometheus.Counter
	Retries, Failures, Corrupt prometheus.Counter
	// Tiles, TileBytes and Bins count what was written of rollups, also again; Reread
	// the samples that were read from blocks for them.
	Tiles, TileBytes, Bins, Reread prometheus.Counter
	// PutOff counts checkpoints that left rollups for later, for want of memory.
	PutOff   prometheus.Counter
	Duration prometheus.Histogram
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "seal", Name: name, Help: help})
	}
	return &Metrics{
		Samples:    counter("samples_total", "Samples sealed into blocks."),
		Expired:    counter("expired_samples_total", "Samples that were older than they are kept when they came to be sealed."),
		Blocks:     counter("blocks_total", "Blocks written, also those written again as they grew."),
		Bytes:      counter("bytes_total", "Bytes of blocks written."),
		Moved:      counter("moved_blocks_total", "Blocks copied to the tier that their group asks for."),
		Left:       counter("left_buckets_total", "Buckets of a PV deleted, as their blocks were copied to another tier."),
		Adopted:    counter("adopted_runs_total", "Runs of samples of other writers that were sealed."),
		Retries:    counter("retries_total", "Operations on the store that failed and were tried again."),
		Tiles:      counter("tiles_total", "Tiles of rollups written, also those written again."),
		TileBytes:  counter("tile_bytes_total", "Bytes of tiles written."),
		Bins:       counter("bins_total", "Bins of rollups computed and written."),
		Reread:     counter("reread_samples_total", "Samples read from blocks to compute bins."),
		PutOff:     counter("rollups_put_off_total", "Checkpoints that left rollups for later, as memory was short: readers compute them meanwhile."),
		Failures:   counter("failures_total", "Checkpoints that failed."),
		Corrupt:    counter("corrupt_rows_total", "Journal rows that could not be read."),
		MovedBytes: counter("moved_bytes_total", "Bytes of blocks copied to the tier that their group asks for."),
		Waiting: f.NewGauge(prometheus.GaugeOpts{
			Namespace: "varve", Subsystem: "seal", Name: "moves_waiting", Help: "PVs whose blocks may have to move to another tier, or to be deleted where they were.",
		}),
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

func (m *Metrics) moved(blocks []store.Block) {
	m.Moved.Add(float64(len(blocks)))
	for i := range blocks {
		m.MovedBytes.Add(float64(len(blocks[i].Blob)))
	}
}

func (m *Metrics) rolled(rows []store.Rollup, bins int) {
	m.Tiles.Add(float64(len(rows)))
	m.Bins.Add(float64(bins))
	for i := range rows {
		m.TileBytes.Add(float64(len(rows[i].Blob)))
	}
}
