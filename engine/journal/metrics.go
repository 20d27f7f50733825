package journal

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are the metrics of all shard journals of an engine.
type Metrics struct {
	Rows, Retries prometheus.Counter
	// Released counts how often a shard's samples in acknowledged rows left memory because it
	// was short.
	Released prometheus.Counter
	// Bytes and Samples count the contents of acknowledged rows. Dropped counts samples that
	// were dropped for lack of memory and will never be in a row.
	Bytes, Samples, Dropped atomic.Uint64

	// Write is the time that the store took to write a row. Durable is the time from the
	// building of a row to its acknowledgement. Before that, the oldest sample of the row has
	// waited up to a flush interval.
	Write, Durable prometheus.Histogram
}

// NewMetrics registers the metrics of the shard journals that share mem.
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
	gauge("memory_bytes", "Memory taken by samples that are not in a block yet.", mem.Used)
	gauge("memory_limit_bytes", "Memory that such samples may take before the oldest are dropped.", mem.Limit)
	m := &Metrics{
		Rows:    counter("rows_total", "Journal rows acknowledged."),
		Retries: counter("retries_total", "Writes to the store that failed and were retried."),
		Released: counter("released_total",
			"Times that the samples in a shard's journal left memory because it was short; they are sealed from the journal."),
		Write:   seconds("write_seconds", "Time from sending a journal row to its acknowledgement."),
		Durable: seconds("durable_seconds", "Time from building a journal row to its acknowledgement, including retries."),
	}
	total := func(name, help string, v *atomic.Uint64) {
		f.NewCounterFunc(prometheus.CounterOpts{Namespace: "varve", Subsystem: "journal", Name: name, Help: help},
			func() float64 { return float64(v.Load()) })
	}
	total("bytes_total", "Bytes of acknowledged journal rows.", &m.Bytes)
	total("samples_total", "Samples in acknowledged journal rows.", &m.Samples)
	total("dropped_samples_total", "Samples dropped because the store was unreachable for too long.", &m.Dropped)
	return m
}

func (m *Metrics) row(p *pendingRow, sent time.Time) {
	m.Rows.Inc()
	m.Bytes.Add(uint64(len(p.Index) + len(p.Blob)))
	m.Samples.Add(uint64(p.samples))
	m.Write.Observe(time.Since(sent).Seconds())
	m.Durable.Observe(time.Since(p.built).Seconds())
}
