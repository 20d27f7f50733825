package spool

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"varve.dev/varve/engine/sample"
)

// Metrics of a spool.
type Metrics struct {
	// Rows and Samples were put; Sent ones were acknowledged by the store.
	Rows, Samples, SentRows, SentSamples prometheus.Counter
	Bytes                                prometheus.Counter
	// Dropped samples never will be in the store, by reason.
	Dropped *prometheus.CounterVec
	// Failures of the disk, Syncs of files, and Retries of what the store refused.
	Failures, Syncs, Retries prometheus.Counter
}

// damaged is the reason for samples whose bytes on the disk are not what was written.
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
	gauge("bytes", "Bytes that the spool takes on disk.", func() float64 { return float64(s.bytes()) })
	gauge("limit_bytes", "Bytes that the spool may take before the oldest samples are dropped.",
		func() float64 { return float64(s.cfg.Size) })
	gauge("waiting_rows", "Rows in the spool that wait for the store.", func() float64 { return float64(s.waitingRows()) })
	gauge("oldest_seconds", "Age of the oldest spool file with samples that wait; 0 without one.",
		func() float64 { return s.oldestAge().Seconds() })
	m := &Metrics{
		Rows:        counter("put_rows_total", "Rows put into the spool."),
		Samples:     counter("put_samples_total", "Samples put into the spool."),
		Bytes:       counter("put_bytes_total", "Bytes put into the spool."),
		SentRows:    counter("sent_rows_total", "Rows of the spool acknowledged by the store."),
		SentSamples: counter("sent_samples_total", "Samples of the spool acknowledged by the store."),
		Dropped:     f.NewCounterVec(prometheus.CounterOpts(opts("dropped_samples_total", "Samples of the spool that are lost, by reason.")), []string{"reason"}),
		Failures:    counter("failures_total", "Failures of the disk."),
		Syncs:       counter("syncs_total", "Times that a file was synchronized."),
		Retries:     counter("retries_total", "Failures to send rows to the store, which are tried again."),
	}
	for _, reason := range []string{sample.Overflow.String(), damaged} {
		m.Dropped.WithLabelValues(reason)
	}
	return m
}

// put counts rows that are durable.
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

// waitingRows counts the rows that wait. It needs the lock.
func (s *Spool) waitingRows() (n int) {
	for _, g := range s.segments {
		rows, _ := g.waiting()
		n += rows
	}
	return n
}

// oldestAge returns how long ago the oldest segment was begun of which rows wait.
// It needs the lock.
func (s *Spool) oldestAge() time.Duration {
	for _, g := range s.segments {
		if rows, _ := g.waiting(); rows > 0 {
			return time.Since(time.Unix(0, g.created))
		}
	}
	return 0
}
