package pva

import (
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/sample"
)

// metrics are those of one Client.
type metrics struct {
	all []prometheus.Collector

	channels        [numStates]prometheus.Gauge
	circuits        prometheus.Gauge
	circuitsEnded   prometheus.Counter
	connectFailures prometheus.Counter
	probes          prometheus.Counter
	events          prometheus.Counter
	receivedBytes   prometheus.Counter
	sentBytes       prometheus.Counter
	searches        prometheus.Counter
	datagrams       prometheus.Counter
	datagramErrors  prometheus.Counter
	beacons         prometheus.Counter
	lookupErrors    prometheus.Counter
	duplicates      prometheus.Counter
	messages        prometheus.Counter
	dropped         [sample.NumReasons]prometheus.Counter
}

func newMetrics() *metrics {
	var all []prometheus.Collector
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "pva", Name: name, Help: help})
		all = append(all, c)
		return c
	}
	m := &metrics{
		circuits: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "varve", Subsystem: "pva", Name: "circuits", Help: "TCP circuits that are connected.",
		}),
		circuitsEnded:   counter("circuits_ended_total", "Circuits that were connected and ended."),
		connectFailures: counter("connect_failures_total", "Circuits that could not be connected."),
		probes:          counter("probes_total", "Attempts to connect to servers that channels were lost at."),
		events:          counter("events_total", "Updates received from servers."),
		receivedBytes:   counter("received_bytes_total", "Bytes received on circuits."),
		sentBytes:       counter("sent_bytes_total", "Bytes sent on circuits."),
		searches:        counter("searches_total", "Channel names searched for, repeated ones included."),
		datagrams:       counter("search_datagrams_total", "UDP datagrams of searches sent."),
		datagramErrors:  counter("datagram_errors_total", "UDP datagrams that could not be sent or received."),
		beacons:         counter("beacons_total", "Beacons received from servers."),
		lookupErrors:    counter("lookup_errors_total", "Host names that could not be resolved."),
		duplicates:      counter("duplicate_servers_total", "Channels that another server has, too."),
		messages:        counter("server_messages_total", "Warnings and errors that servers sent for people."),
	}
	all = append(all, m.circuits)
	states := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "varve", Subsystem: "pva", Name: "channels", Help: "Subscribed channels by state.",
	}, []string{"state"})
	for s := range m.channels {
		m.channels[s] = states.WithLabelValues(stateNames[s])
	}
	drops := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "varve", Subsystem: "pva", Name: "dropped_total", Help: "Updates not delivered, by reason.",
	}, []string{"reason"})
	for _, reason := range []sample.Reason{sample.TooLarge, sample.Malformed, sample.Overrun} {
		m.dropped[reason] = drops.WithLabelValues(reason.String())
	}
	m.all = append(all, states, drops)
	return m
}

// register registers the metrics, unless r is nil.
func (m *metrics) register(r prometheus.Registerer) {
	if r != nil {
		r.MustRegister(m.all...)
	}
}
