package journal

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics of all shardJournals of an engine.
type Metrics struct {
	Rows, Retries prometheus.Counter
	// Bytes and Samples are in acknowledged rows; Dropped samples never will be,
	// for want of memory.
	Bytes, Samples, Dropped atomic.Uint64

	// Write is the time a row took at the store; Durable that from the making of
	// a row, whose oldest sample waited up to a flush interval before, to its
	// acknowledgement.
	Write, Durable prometheus.Histogram
}

// NewMetrics registers the metrics of shardJournals whose memory is mem.
func NewMetrics(reg prometheus.Registerer, mem *Memory) *Metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "journal", Name: name, Help: help})
	}
	seconds := func(name, help string) prometheus.Histogram {
		return f.NewHistogram(prometheus.HistogramOpts{
			Namespace: "varve", Subsystem: "journal", Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		})
	}
	gauge := func(name, help string, read func() int64) {
		f.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "varve", Subsystem: "journal", Name: name, Help: help},
			func() float64 { return float64(read()) })
	}
	gauge("memory_bytes", "Memory that samples take which are in no block yet.", mem.Used)
	gauge("memory_limit_bytes", "Memory that such samples may take before the oldest are dropped.", mem.Limit)
	m := &Metrics{
		Rows:    counter("rows_total", "Journal rows acknowledged."),
		Retries: counter("retries_total", "Writes to the store that failed and were tried again."),
		Write:   seconds("write_seconds", "Time from sending a journal row to its acknowledgement."),
		Durable: seconds("durable_seconds", "Time from making a journal row to its acknowledgement, with retries."),
	}
	total := func(name, help string, v *atomic.Uint64) {
		f.NewCounterFunc(prometheus.CounterOpts{Namespace: "varve", Subsystem: "journal", Name: name, Help: help},
			func() float64 { return float64(v.Load()) })
	}
	total("bytes_total", "Bytes of acknowledged journal rows.", &m.Bytes)
	total("samples_total", "Samples in acknowledged journal rows.", &m.Samples)
	total("dropped_samples_total", "Samples dropped because the store was away for too long.", &m.Dropped)
	return m
}

func (m *Metrics) row(p *pendingRow, sent time.Time) {
	m.Rows.Inc()
	m.Bytes.Add(uint64(len(p.Index) + len(p.Blob)))
	m.Samples.Add(uint64(p.samples))
	m.Write.Observe(time.Since(sent).Seconds())
	m.Durable.Observe(time.Since(p.built).Seconds())
}
