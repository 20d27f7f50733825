package ioc

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Stats are counts of a server, of both protocols.
type Stats struct {
	Circuits      int64  // connected now
	Subscriptions int64  // active now
	Sent          uint64 // updates sent, the first ones of subscriptions included
	Dropped       uint64 // updates dropped because a client was slow
	Bytes         uint64 // sent on circuits
}

// Stats returns the counts as they are now.
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
