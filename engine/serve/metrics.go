package serve

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics of the requests served.
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
			Namespace: "varve", Subsystem: "http", Name: "requests_total", Help: "Requests answered.",
		}, []string{"route", "code"}),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "varve", Subsystem: "http", Name: "request_seconds", Help: "Time until an answer was complete.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"route"}),
		inFlight: f.NewGauge(prometheus.GaugeOpts{
			Namespace: "varve", Subsystem: "http", Name: "requests_in_flight", Help: "Requests being answered.",
		}),
	}
}

// count counts requests by the pattern of their route: there are as many as the
// program has, whatever clients ask for.
func (m *Metrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.inFlight.Inc()
		start, code := time.Now(), &codeWriter{ResponseWriter: w, code: http.StatusOK}
		defer func() { // also when an answer is broken off
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

// Unwrap lets http.ResponseController find the connection.
func (w *codeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
