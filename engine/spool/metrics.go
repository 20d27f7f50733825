package spool

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"varve.dev/varve/engine/sample"
)

// Metrics are the metrics of a spool.
type Metrics struct {
	// Rows, Samples and Bytes count what was put. SentRows and SentSamples count what the
	// store has acknowledged.
	Rows, Samples, SentRows, SentSamples prometheus.Counter
	Bytes                                prometheus.Counter
	// Dropped counts, by reason, samples that will never be in the store.
	Dropped *prometheus.CounterVec
	// Failures counts failures of the disk, Syncs counts fsyncs, and Retries counts
	// failed writes to the store.
	Failures, Syncs, Retries prometheus.Counter
}

// damaged is the reason for samples whose bytes on the disk have changed.
const damaged = "damaged"

func newMetrics(reg prometheus.Registerer, s *Spool) *Metrics {
	f := promauto.With(reg)
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "varve", Subsystem: "spool", Name: name, Help: help}
	}
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts(opts(name, help)))
	}
	gauge := func(name, help string, read func() float64) {
		f.NewGaugeFunc(prometheus.GaugeOpts(opts(name, help)), func() float64 {
			s.mu.Lock()
			defer s.mu.Unlock()
			return read()
		})
	}
	gauge("bytes", "Bytes that the spool takes on disk.", func() float64 { return float64(s.bytesLocked()) })
	gauge("limit_bytes", "Bytes that the spool may take before the oldest samples are dropped.",
		func() float64 { return float64(s.cfg.Size) })
	gauge("waiting_rows", "Rows in the spool that wait to be sent to the store.", func() float64 { return float64(s.waitingRowsLocked()) })
	gauge("oldest_seconds", "Age of the oldest spool file with waiting samples; 0 if there is none.",
		func() float64 { return s.oldestAgeLocked().Seconds() })
	m := &Metrics{
		Rows:        counter("put_rows_total", "Rows put into the spool."),
		Samples:     counter("put_samples_total", "Samples put into the spool."),
		Bytes:       counter("put_bytes_total", "Bytes put into the spool."),
		SentRows:    counter("sent_rows_total", "Rows of the spool acknowledged by the store."),
		SentSamples: counter("sent_samples_total", "Samples of the spool acknowledged by the store."),
		Dropped:     f.NewCounterVec(prometheus.CounterOpts(opts("dropped_samples_total", "Spooled samples that are lost, by reason.")), []string{"reason"}),
		Failures:    counter("failures_total", "Failures of the disk."),
		Syncs:       counter("syncs_total", "Synchronizations (fsync) of spool files."),
		Retries:     counter("retries_total", "Failures to send rows to the store, which are retried."),
	}
	for _, reason := range []string{sample.Overflow.String(), damaged} {
		m.Dropped.WithLabelValues(reason)
	}
	return m
}

// put counts rows that have become durable.
func (m *Metrics) put(rows []placed) {
	bytes, samples := 0, 0
	for i := range rows {
		bytes += recordSize + rows[i].body
		samples += rows[i].samples
	}
	m.Rows.Add(float64(len(rows)))
	m.Samples.Add(float64(samples))
	m.Bytes.Add(float64(bytes))
}

// waitingRowsLocked counts the rows that wait to be sent.
func (s *Spool) waitingRowsLocked() (n int) {
	for _, g := range s.segments {
		rows, _ := g.waiting()
		n += rows
	}
	return n
}

// oldestAgeLocked returns the age of the oldest segment with waiting rows, or 0.
func (s *Spool) oldestAgeLocked() time.Duration {
	for _, g := range s.segments {
		if rows, _ := g.waiting(); rows > 0 {
			return time.Duration(max(0, s.cfg.Now().Now-g.created))
		}
	}
	return 0
}
