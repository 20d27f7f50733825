package ioc

import (
	"io"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Stats are counts of a server.
type Stats struct {
	Circuits      int64  // connected now
	Subscriptions int64  // active now
	Sent          uint64 // events sent, the first ones of subscriptions included
	Dropped       uint64 // events dropped because a client was slow
	Bytes         uint64 // sent on circuits
}

// Stats returns the counts as they are now.
func (s *Server) Stats() Stats {
	return Stats{
		Circuits:      s.stats.circuits.Load(),
		Subscriptions: s.stats.subscriptions.Load(),
		Sent:          s.stats.sent.Load(),
		Dropped:       s.stats.dropped.Load(),
		Bytes:         s.stats.bytes.Load(),
	}
}

// counters are the Stats of a running server. Circuits add to them once per
// turn, not per event.
type counters struct {
	circuits, subscriptions atomic.Int64
	sent, dropped, bytes    atomic.Uint64
}

// register registers the counters as metrics, unless r is nil.
func (c *counters) register(r prometheus.Registerer) {
	if r == nil {
		return
	}
	gauge := func(name, help string, v *atomic.Int64) {
		r.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Namespace: "varve", Subsystem: "ioc", Name: name, Help: help},
			func() float64 { return float64(v.Load()) }))
	}
	counter := func(name, help string, v *atomic.Uint64) {
		r.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Namespace: "varve", Subsystem: "ioc", Name: name, Help: help},
			func() float64 { return float64(v.Load()) }))
	}
	gauge("circuits", "Clients that are connected.", &c.circuits)
	gauge("subscriptions", "Subscriptions of all clients.", &c.subscriptions)
	counter("events_total", "Updates sent.", &c.sent)
	counter("dropped_total", "Updates dropped because a client was slow.", &c.dropped)
	counter("sent_bytes_total", "Bytes sent on circuits.", &c.bytes)
}

// meter counts the bytes written.
type meter struct {
	w     io.Writer
	bytes *atomic.Uint64
}

func (m meter) Write(b []byte) (int, error) {
	n, err := m.w.Write(b)
	m.bytes.Add(uint64(n))
	return n, err
}
