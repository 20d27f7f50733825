package relocation

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"varve.dev/varve/engine/store"
)

// Metrics are the metrics of relocation in all shards of an engine. They are part of the
// metrics of sealing.
type Metrics struct {
	// Moved counts the blocks that were copied to another tier, and MovedBytes counts their
	// bytes. Left counts the buckets that were dropped after that.
	Moved, MovedBytes, Left prometheus.Counter
	// Waiting is the number of PVs whose blocks may have to migrate, or whose copied buckets
	// wait to be dropped.
	Waiting prometheus.Gauge
	// Failures is shared with the sealers of the engine.
	Failures prometheus.Counter
}

// NewMetrics registers the metrics. It does not register failures, which is shared.
func NewMetrics(reg prometheus.Registerer, failures prometheus.Counter) *Metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "seal", Name: name, Help: help})
	}
	return &Metrics{
		Moved:      counter("moved_blocks_total", "Blocks copied to the retention tier that their group requests."),
		MovedBytes: counter("moved_bytes_total", "Bytes of the blocks copied to the retention tier that their group requests."),
		Left:       counter("left_buckets_total", "Buckets deleted after their blocks were copied to another retention tier."),
		Waiting: f.NewGauge(prometheus.GaugeOpts{
			Namespace: "varve", Subsystem: "seal", Name: "moves_waiting",
			Help: "PVs whose blocks may have to migrate to another retention tier, or whose copied buckets wait to be deleted.",
		}),
		Failures: failures,
	}
}

func (m *Metrics) moved(blocks []store.Block) {
	m.Moved.Add(float64(len(blocks)))
	for i := range blocks {
		m.MovedBytes.Add(float64(len(blocks[i].Blob)))
	}
}
