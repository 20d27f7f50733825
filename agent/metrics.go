package agent

import (
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/api/v1alpha1"
)

// metrics are the metrics of one Agent.
type metrics struct {
	shards        *prometheus.GaugeVec
	orphaned      prometheus.Gauge
	broken        prometheus.Gauge
	writes        prometheus.Counter
	leaseFailures prometheus.Counter
	stateFailures prometheus.Counter
}

var phases = []v1alpha1.ShardPhase{v1alpha1.Joining, v1alpha1.Capturing, v1alpha1.Draining, v1alpha1.Drained}

func newMetrics(r prometheus.Registerer) *metrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "varve", Subsystem: "agent", Name: name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "agent", Name: name, Help: help})
	}
	m := &metrics{
		shards: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "varve", Subsystem: "agent", Name: "shards", Help: "Shards by their phase in this engine.",
		}, []string{"phase"}),
		orphaned: gauge("orphaned_shards",
			"Shards captured without an order: their ArchiveShard is missing, has no label for this engine, or does not name it."),
		broken:        gauge("unreadable_lists", "Channel lists of shards that cannot be read."),
		writes:        counter("status_writes_total", "Writes of ArchiveShard statuses."),
		leaseFailures: counter("lease_failures_total", "Failed renewals of the Lease."),
		stateFailures: counter("state_failures_total", "Failed writes of the state to disk."),
	}
	if r != nil {
		r.MustRegister(m.shards, m.orphaned, m.broken, m.writes, m.leaseFailures, m.stateFailures)
	}
	return m
}

// observe counts the shards.
func (m *metrics) observe(shards map[int]*shard) {
	by := map[v1alpha1.ShardPhase]int{}
	orphaned, broken := 0, 0
	for _, s := range shards {
		by[s.phase]++
		broken += len(s.broken)
		if s.decision.Orphaned {
			orphaned++
		}
	}
	for _, p := range phases {
		m.shards.WithLabelValues(string(p)).Set(float64(by[p]))
	}
	m.orphaned.Set(float64(orphaned))
	m.broken.Set(float64(broken))
}
