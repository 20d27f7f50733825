package routing

import "github.com/prometheus/client_golang/prometheus"

// metrics are the metrics of one Router.
type metrics struct {
	queried, failed                  prometheus.Counter
	engines, shards, pvs, incomplete prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "varve", Subsystem: "routing", Name: name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "routing", Name: name, Help: help})
	}
	m := &metrics{
		queried:    counter("queries_total", "Queries sent to engines."),
		failed:     counter("failed_queries_total", "Queries that an engine did not answer in time. Readers use the journal instead."),
		engines:    gauge("engines", "Running engines."),
		shards:     gauge("shards", "Known ArchiveShards."),
		pvs:        gauge("pvs", "PVs in the channel lists that the pod has read."),
		incomplete: gauge("incomplete_shards", "ArchiveShards with a channel list that the pod has not read yet."),
	}
	if r != nil {
		r.MustRegister(m.queried, m.failed, m.engines, m.shards, m.pvs, m.incomplete)
	}
	return m
}

// setTable sets the metrics to the numbers of engines, shards and PVs in a table.
func (m *metrics) setTable(a *table) {
	pvs, incomplete := 0, 0
	for i := range a.routes {
		for _, list := range a.routes[i].lists {
			pvs += len(list.hashes)
		}
		if !a.routes[i].complete {
			incomplete++
		}
	}
	m.engines.Set(float64(len(a.engines)))
	m.shards.Set(float64(len(a.routes)))
	m.pvs.Set(float64(pvs))
	m.incomplete.Set(float64(incomplete))
}
