package pebble

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics contains the metrics of a store. Pebble's own metrics are read when they are
// collected.
type metrics struct {
	registerer prometheus.Registerer
	seconds    *prometheus.HistogramVec
	errors     *prometheus.CounterVec
	bytes      *prometheus.CounterVec
	registered []prometheus.Collector
}

func newMetrics(reg prometheus.Registerer, db *pebble.DB) *metrics {
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "varve", Subsystem: "pebble", Name: name, Help: help}
	}
	gauge := func(name, help string, of func(*pebble.Metrics) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts(opts(name, help)), func() float64 { return of(db.Metrics()) })
	}
	m := &metrics{
		registerer: reg,
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "varve", Subsystem: "pebble", Name: "write_seconds",
			Help:    "Time until a write was durable, by table.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
		}, []string{"table"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts(
			opts("write_errors_total", "Writes that failed, by table.")), []string{"table"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts(
			opts("written_bytes_total", "Bytes of keys and values written, by table.")), []string{"table"}),
	}
	m.registered = []prometheus.Collector{
		m.seconds, m.errors, m.bytes,
		gauge("disk_bytes", "Bytes on disk.",
			func(p *pebble.Metrics) float64 { return float64(p.DiskSpaceUsage()) }),
		gauge("compaction_debt_bytes", "Bytes that compactions must still process.",
			func(p *pebble.Metrics) float64 { return float64(p.Compact.EstimatedDebt) }),
		gauge("read_amplification", "Files and sublevels that a read must search.",
			func(p *pebble.Metrics) float64 { return float64(p.ReadAmp()) }),
	}
	if reg != nil {
		reg.MustRegister(m.registered...)
	}
	return m
}

// wrote counts a commit that began at start.
func (m *metrics) wrote(table string, bytes int, start time.Time, err error) {
	if err != nil {
		m.errors.WithLabelValues(table).Inc()
		return
	}
	m.seconds.WithLabelValues(table).Observe(time.Since(start).Seconds())
	m.bytes.WithLabelValues(table).Add(float64(bytes))
}

// close unregisters the metrics. Pebble's metrics cannot be read after the database is closed.
func (m *metrics) close() {
	if m.registerer == nil {
		return
	}
	for _, c := range m.registered {
		m.registerer.Unregister(c)
	}
}
