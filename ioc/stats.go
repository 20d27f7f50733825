package ioc

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Stats has the counts of a server for both protocols.
type Stats struct {
	Circuits      int64  // currently connected
	Subscriptions int64  // currently active
	Sent          uint64 // updates sent, including the first updates of subscriptions
	Dropped       uint64 // updates dropped because a client was slow
	Bytes         uint64 // sent on circuits
}

// Stats returns the current counts.
func (s *Server) Stats() (sum Stats) {
	for _, v := range s.services {
		c := &v.counts
		sum.Circuits += c.Circuits()
		sum.Subscriptions += c.Subscriptions()
		sum.Sent += c.Sent()
		sum.Dropped += c.Dropped()
		sum.Bytes += c.Bytes()
	}
	return sum
}

// register registers the counts of services as metrics, unless r is nil.
func register(r prometheus.Registerer, services []*service) {
	if r == nil {
		return
	}
	for _, v := range services {
		c, labels := &v.counts, prometheus.Labels{"protocol": v.name}
		gauge := func(name, help string, value func() int64) {
			r.MustRegister(prometheus.NewGaugeFunc(
				prometheus.GaugeOpts{Namespace: "varve", Subsystem: "ioc", Name: name, Help: help, ConstLabels: labels},
				func() float64 { return float64(value()) }))
		}
		counter := func(name, help string, value func() uint64) {
			r.MustRegister(prometheus.NewCounterFunc(
				prometheus.CounterOpts{Namespace: "varve", Subsystem: "ioc", Name: name, Help: help, ConstLabels: labels},
				func() float64 { return float64(value()) }))
		}
		gauge("circuits", "Clients that are connected.", c.Circuits)
		gauge("subscriptions", "Subscriptions of all clients.", c.Subscriptions)
		counter("events_total", "Updates sent.", c.Sent)
		counter("dropped_total", "Updates dropped because a client was slow.", c.Dropped)
		counter("sent_bytes_total", "Bytes sent on circuits.", c.Bytes)
	}
}
