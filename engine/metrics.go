package engine

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// register registers the metrics of the shards.
func (e *Engine) register(reg prometheus.Registerer) {
	gauge := func(name, help string, count func() int) {
		promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{Namespace: "varve", Subsystem: "engine", Name: name, Help: help},
			func() float64 {
				e.mu.RLock()
				defer e.mu.RUnlock()
				return float64(count())
			})
	}
	gauge("shards_held", "Shards that are assigned to this engine.", func() int { return len(e.held) })
	gauge("shards_sealing", "Shards that this engine seals.", func() (n int) {
		for range e.sealersLocked {
			n++
		}
		return n
	})
	gauge("oldest_unsealed_seconds", "How long the oldest unsealed journal row of the shards that this engine seals has been in the store, if the store deletes it in the end.",
		func() int { l, _ := e.sealingLagLocked(); return int(l.Age.Seconds()) })
	gauge("journal_kept_seconds", "How long the store keeps journal rows; 0: until they are sealed.",
		func() int { l, _ := e.sealingLagLocked(); return int(l.TTL.Seconds()) })
	gauge("shards_leaving", "Shards that were released, but are not flushed and closed yet.", func() int { return len(e.leaving) })
}
