package cassandra

import (
	"context"
	"errors"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"varve.dev/varve/engine/store/cassandra/cql"
)

const namespace, subsystem = "varve", "cassandra"

// metrics contains the metrics of a store. Each page and each retry counts as a request.
type metrics struct {
	set *prometheus.Registry // holds all metrics, so that they are registered as one

	seconds  *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	retries  prometheus.Counter
	written  prometheus.Counter
	read     prometheus.Counter
	inFlight prometheus.Gauge

	nodes *nodes // gets the duration of each request
}

func newMetrics() *metrics {
	set := prometheus.NewRegistry()
	f := promauto.With(set)
	f.NewCounterFunc(prometheus.CounterOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "leaked_sessions_total",
		Help:        "Sessions of the driver that this process could not close, by reason; their goroutines stay until the process ends.",
		ConstLabels: prometheus.Labels{"reason": "timeout"},
	}, func() float64 { return float64(cql.Leaked()) })
	return &metrics{
		set:   set,
		nodes: newNodes(),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "request_seconds",
			Help:    "Time until a request was answered, by operation.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 3, 10),
		}, []string{"operation"}),
		errors: f.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "request_errors_total",
			Help: "Requests that failed, by operation and reason; each attempt counts.",
		}, []string{"operation", "reason"}),
		retries: f.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "retries_total",
			Help: "Attempts at requests after the first, because it failed or was slow.",
		}),
		written: f.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "written_bytes_total",
			Help: "Bytes of rows that were acknowledged.",
		}),
		read: f.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "read_bytes_total",
			Help: "Bytes of blobs and of indexes of journal rows read.",
		}),
		inFlight: f.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "in_flight_bytes",
			Help: "Bytes of writes that wait for an answer.",
		}),
	}
}

// operation is the key under which the context of a request has the name of its operation.
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
	m.observe(operationOf(ctx), q.Host, q.End.Sub(q.Start), q.Attempt, q.Err)
}

// ObserveBatch implements gocql.BatchObserver.
func (m *metrics) ObserveBatch(ctx context.Context, b gocql.ObservedBatch) {
	m.observe(operationOf(ctx), b.Host, b.End.Sub(b.Start), b.Attempt, b.Err)
}

func (m *metrics) observe(operation string, host *gocql.HostInfo, took time.Duration, attempt int, err error) {
	m.nodes.observe(host, took, err)
	if attempt > 0 {
		m.retries.Inc()
	}
	if err != nil {
		m.errors.WithLabelValues(operation, whyFailed(err)).Inc()
		return
	}
	m.seconds.WithLabelValues(operation).Observe(took.Seconds())
}

// whyFailed returns the reason label for an error of a request.
func whyFailed(err error) string {
	var refused gocql.RequestError
	switch {
	case errors.Is(err, gocql.ErrTimeoutNoResponse), errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case !errors.As(err, &refused):
		return "connection"
	}
	switch refused.Code() {
	case gocql.ErrCodeWriteTimeout, gocql.ErrCodeReadTimeout:
		return "timeout"
	case gocql.ErrCodeUnavailable:
		return "unavailable"
	case gocql.ErrCodeOverloaded, gocql.ErrCodeBootstrapping:
		return "overloaded"
	}
	return "refused"
}

// showNodes adds gauges with the numbers of nodes that are up and down.
func (m *metrics) showNodes(count func() (up, down int)) {
	nodes := func(state string, read func() int) {
		promauto.With(m.set).NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "nodes",
			Help:        "Nodes of the datacenter, by whether this process has connections to them.",
			ConstLabels: prometheus.Labels{"state": state},
		}, func() float64 { return float64(read()) })
	}
	nodes("up", func() int { up, _ := count(); return up })
	nodes("down", func() int { _, down := count(); return down })
}
