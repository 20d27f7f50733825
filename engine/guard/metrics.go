package guard

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the metrics of an engine's guard. If another engine decides, all gauges except
// the cutoff are 0.
type metrics struct {
	size, limit, cutoff, waiting prometheus.Gauge
	rounds, buckets, bytes       prometheus.Counter
	failures                     prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Namespace: "varve", Subsystem: "disk_guard", Name: name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "disk_guard", Name: name, Help: help})
	}
	return &metrics{
		size:     gauge("size_bytes", "Size of the archive on its disks; 0 while another engine decides."),
		limit:    gauge("limit_bytes", "Size limit of the archive; 0: no limit."),
		cutoff:   gauge("cutoff_seconds", "Unix time before which raw samples were deleted to free disk space; 0: none."),
		waiting:  gauge("waiting_bytes", "Deleted bytes that are not free yet."),
		rounds:   counter("steps_total", "Times that this engine raised the cutoff."),
		buckets:  counter("dropped_buckets_total", "Buckets of raw samples of a PV that this engine deleted."),
		bytes:    counter("dropped_bytes_total", "Approximate bytes of raw samples that this engine deleted, in all replicas."),
		failures: counter("failures_total", "Failed inspections of the archive and failed deletions; both are retried."),
	}
}
