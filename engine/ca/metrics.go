package ca

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
	events          prometheus.Counter
	receivedBytes   prometheus.Counter
	sentBytes       prometheus.Counter
	searches        prometheus.Counter
	datagrams       prometheus.Counter
	datagramErrors  prometheus.Counter
	lookupErrors    prometheus.Counter
	duplicates      prometheus.Counter
	probes          prometheus.Counter
	beacons         prometheus.Counter
	news            prometheus.Counter
	listeners       prometheus.Gauge
	stalls          prometheus.Counter
	eventsOff       prometheus.Counter
	dropped         [sample.NumReasons]prometheus.Counter
}

func newMetrics() *metrics {
	var all []prometheus.Collector
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "ca", Name: name, Help: help})
		all = append(all, c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "varve", Subsystem: "ca", Name: name, Help: help})
		all = append(all, g)
		return g
	}
	m := &metrics{
		circuits:        gauge("circuits", "TCP circuits that are connected."),
		circuitsEnded:   counter("circuits_ended_total", "Circuits that were connected and ended."),
		connectFailures: counter("connect_failures_total", "Circuits that could not be connected."),
		events:          counter("events_total", "Updates received from servers."),
		receivedBytes:   counter("received_bytes_total", "Bytes received on circuits."),
		sentBytes:       counter("sent_bytes_total", "Bytes sent on circuits."),
		searches:        counter("searches_total", "Channel names searched for, repeated ones included."),
		datagrams:       counter("search_datagrams_total", "UDP datagrams of searches sent."),
		datagramErrors:  counter("search_datagram_errors_total", "UDP datagrams of searches that could not be sent."),
		lookupErrors:    counter("lookup_errors_total", "Host names that could not be resolved."),
		duplicates:      counter("duplicate_servers_total", "Channels that a second server answered for."),
		probes:          counter("probes_total", "Attempts to connect to servers that were lost."),
		beacons:         counter("beacons_total", "Beacons received."),
		news:            counter("beacon_anomalies_total", "Beacons that told of a server that came up."),
		listeners:       gauge("repeater_clients", "Clients of this host that beacons are repeated to."),
		stalls:          counter("stalls_total", "Stalls of circuits in which servers may have dropped updates."),
		eventsOff:       counter("events_off_total", "Times that a server was told to hold its updates, as this client was behind."),
	}
	states := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "varve", Subsystem: "ca", Name: "channels", Help: "Subscribed channels by state.",
	}, []string{"state"})
	for s := range m.channels {
		m.channels[s] = states.WithLabelValues(stateNames[s])
	}
	drops := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "varve", Subsystem: "ca", Name: "dropped_total", Help: "Updates not delivered, by reason.",
	}, []string{"reason"})
	for _, reason := range []sample.Reason{sample.TooLarge, sample.Malformed} {
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
