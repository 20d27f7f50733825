package tiling

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"varve.dev/varve/engine/store"
)

// Metrics are the metrics of the rollups of all shards of an engine. They are part of the
// metrics of sealing.
type Metrics struct {
	// Tiles, TileBytes and Bins count the tiles, bytes and bins that were written, each time
	// that they were written.
	Tiles, TileBytes, Bins prometheus.Counter
	// Reread counts the samples that were read from blocks to compute bins.
	Reread prometheus.Counter
	// PutOff counts the checkpoints that deferred rollups because memory was short.
	PutOff prometheus.Counter
	// Corrected counts how often the rollups of a PV were corrected for late samples.
	Corrected prometheus.Counter
	// Damaged is shared with the sealers of the engine.
	Damaged prometheus.Counter
}

// NewMetrics registers the metrics. It does not register damaged, which is shared.
func NewMetrics(reg prometheus.Registerer, damaged prometheus.Counter) *Metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "seal", Name: name, Help: help})
	}
	return &Metrics{
		Tiles:     counter("tiles_total", "Rollup tiles written, including repeated writes."),
		TileBytes: counter("tile_bytes_total", "Bytes of rollup tiles written."),
		Bins:      counter("bins_total", "Rollup bins computed and written."),
		Reread:    counter("reread_samples_total", "Samples read from blocks to compute rollup bins."),
		PutOff:    counter("rollups_put_off_total", "Checkpoints that deferred rollups because memory was short; meanwhile readers compute them."),
		Corrected: counter("rollups_corrected_total", "How often the rollups of a PV were corrected for late samples."),
		Damaged:   damaged,
	}
}

func (m *Metrics) wrote(rows []store.Rollup, bins int) {
	m.Tiles.Add(float64(len(rows)))
	m.Bins.Add(float64(bins))
	for i := range rows {
		m.TileBytes.Add(float64(len(rows[i].Blob)))
	}
}
