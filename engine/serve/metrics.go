package serve

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are the metrics of HTTP requests.
type Metrics struct {
	requests *prometheus.CounterVec // by route and code
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	return &Metrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Namespace: "varve", Subsystem: "http", Name: "requests_total", Help: "HTTP requests answered, by route and status code.",
		}, []string{"route", "code"}),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "varve", Subsystem: "http", Name: "request_seconds", Help: "Time from the start of an HTTP request to the end of its answer.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"route"}),
		inFlight: f.NewGauge(prometheus.GaugeOpts{
			Namespace: "varve", Subsystem: "http", Name: "requests_in_flight", Help: "HTTP requests being answered.",
		}),
	}
}

// count counts requests by the pattern of their route, so that clients cannot create
// label values.
func (m *Metrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.inFlight.Inc()
		start, code := time.Now(), &codeWriter{ResponseWriter: w, code: http.StatusOK}
		defer func() { // runs also when the answer is aborted
			m.inFlight.Dec()
			route := cmp.Or(r.Pattern, "none")
			m.requests.WithLabelValues(route, strconv.Itoa(code.code)).Inc()
			m.seconds.WithLabelValues(route).Observe(time.Since(start).Seconds())
		}()
		next.ServeHTTP(code, r)
	})
}

type codeWriter struct {
	http.ResponseWriter
	code int
}

func (w *codeWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap returns the wrapped writer. http.ResponseController needs it for access to the
// connection.
func (w *codeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
