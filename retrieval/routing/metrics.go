package routing

import "github.com/prometheus/client_golang/prometheus"

// metrics are those of one Owners.
type metrics struct {
	asked, failed                   prometheus.Counter
	engines, shards, pvs, unlearned prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "varve", Subsystem: "owners", Name: name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "owners", Name: name, Help: help})
	}
	m := &metrics{
		asked:     counter("asked_total", "Questions to engines."),
		failed:    counter("failed_total", "Questions that an engine did not answer in time; the journal is read then."),
		engines:   gauge("engines", "Engines that run."),
		shards:    gauge("shards", "ArchiveShards that are known."),
		pvs:       gauge("pvs", "PVs in channel lists that are known."),
		unlearned: gauge("incomplete_shards", "ArchiveShards with a channel list that is not read yet."),
	}
	if r != nil {
		r.MustRegister(m.asked, m.failed, m.engines, m.shards, m.pvs, m.unlearned)
	}
	return m
}

// draw counts what an atlas has.
func (m *metrics) draw(a *atlas) {
	pvs, unlearned := 0, 0
	for i := range a.places {
		for _, n := range a.places[i].lists {
			pvs += len(n.hashes)
		}
		if !a.places[i].whole {
			unlearned++
		}
	}
	m.engines.Set(float64(len(a.engines)))
	m.shards.Set(float64(len(a.places)))
	m.pvs.Set(float64(pvs))
	m.unlearned.Set(float64(unlearned))
}
