package through

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"varve.dev/varve/engine/destination"
	"varve.dev/varve/engine/upstream"
)

// Kinds of requests.
const (
	kindSamples = "samples"
	kindPV      = "pv"
	kindNames   = "names"
	kindCheck   = "check"
)

type kindKey struct{}

// withKind says for metrics what a request is for.
func withKind(ctx context.Context, kind string) context.Context {
	return context.WithValue(ctx, kindKey{}, kind)
}

func kindOf(ctx context.Context) string {
	kind, _ := ctx.Value(kindKey{}).(string)
	return kind
}

type metrics struct {
	requests *prometheus.CounterVec
	errors   *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	bytes    prometheus.Counter
	active   prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	return &metrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_read_through_requests_total", Help: "Requests to the older archive, including repeated ones, by kind: samples, pv, names, check.",
		}, []string{"kind"}),
		errors: f.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_read_through_errors_total", Help: "Reads of the older archive that failed, by reason: away, busy, timeout, status, loop, network, refused, credentials, answer.",
		}, []string{"reason"}),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "varve_read_through_seconds", Help: "Time from a request to the older archive to the end of its answer. It includes the time that the client of this archive takes to read the answer.",
			Buckets: prometheus.ExponentialBuckets(0.005, 4, 9),
		}, []string{"kind"}),
		bytes: f.NewCounter(prometheus.CounterOpts{
			Name: "varve_read_through_bytes_total", Help: "Bytes of the answers of the older archive, after decompression.",
		}),
		active: f.NewGauge(prometheus.GaugeOpts{
			Name: "varve_read_through_active", Help: "Requests to the older archive in flight.",
		}),
	}
}

// reason returns the reason of an error, for metrics.
func reason(err error) string {
	var status *upstream.StatusError
	var network net.Error
	var refused *destination.RefusedError
	var away *awayError
	switch {
	case errors.As(err, &away):
		return "away"
	case errors.As(err, &refused):
		return "refused"
	case errors.Is(err, upstream.ErrCredentials):
		return "credentials"
	case errors.Is(err, errBusy):
		return "busy"
	case errors.Is(err, upstream.ErrSilent), errors.Is(err, errLate), errors.Is(err, errSlow):
		return "timeout"
	case errors.As(err, &status) && status.Code == http.StatusLoopDetected:
		return "loop"
	case errors.As(err, &status):
		return "status"
	case errors.As(err, &network):
		return "network"
	}
	return "answer"
}
