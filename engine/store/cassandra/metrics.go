package cassandra

import (
	"context"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics of a store. Requests count pages and retries each.
type metrics struct {
	set *prometheus.Registry // holds all of them, to be registered as one

	seconds  *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	retries  prometheus.Counter
	written  prometheus.Counter
	read     prometheus.Counter
	inFlight prometheus.Gauge
}

func newMetrics() *metrics {
	set := prometheus.NewRegistry()
	f := promauto.With(set)
	const namespace, subsystem = "varve", "cassandra"
	return &metrics{
		set: set,
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "request_seconds",
			Help:    "Time until a request was answered, by operation.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 3, 10),
		}, []string{"operation"}),
		errors: f.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "request_errors_total",
			Help: "Requests that failed, by operation; each attempt counts.",
		}, []string{"operation"}),
		retries: f.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "retries_total",
			Help: "Attempts at requests after the first.",
		}),
		written: f.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "written_bytes_total",
			Help: "Bytes of rows that were acknowledged.",
		}),
		read: f.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "read_bytes_total",
			Help: "Bytes of blobs read.",
		}),
		inFlight: f.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "in_flight_bytes",
			Help: "Bytes of writes that wait for an answer.",
		}),
	}
}

// operation is the key under which a context names what a request is for.
type operation struct{}

func withOperation(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, operation{}, name)
}

func operationOf(ctx context.Context) string {
	name, _ := ctx.Value(operation{}).(string)
	return name
}

// ObserveQuery implements gocql.QueryObserver.
func (m *metrics) ObserveQuery(ctx context.Context, q gocql.ObservedQuery) {
	m.observe(operationOf(ctx), q.End.Sub(q.Start).Seconds(), q.Attempt, q.Err)
}

// ObserveBatch implements gocql.BatchObserver.
func (m *metrics) ObserveBatch(ctx context.Context, b gocql.ObservedBatch) {
	m.observe(operationOf(ctx), b.End.Sub(b.Start).Seconds(), b.Attempt, b.Err)
}

func (m *metrics) observe(operation string, seconds float64, attempt int, err error) {
	if attempt > 0 {
		m.retries.Inc()
	}
	if err != nil {
		m.errors.WithLabelValues(operation).Inc()
		return
	}
	m.seconds.WithLabelValues(operation).Observe(seconds)
}
