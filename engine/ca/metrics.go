package ca

import (
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/sample"
)

// metrics are the metrics of one Client.
type metrics struct {
	*client.Metrics
	anomalies prometheus.Counter
	listeners prometheus.Gauge
	stalls    prometheus.Counter
	eventsOff prometheus.Counter
}

func newMetrics() *metrics {
	m := client.NewMetrics("ca", "search_datagram_errors_total", sample.TooLarge, sample.Malformed)
	return &metrics{
		Metrics:   m,
		anomalies: m.Counter("beacon_anomalies_total", "Beacons that showed that a server started, restarted or returned."),
		listeners: m.Gauge("repeater_clients", "Clients of this host to which the repeater forwards beacons."),
		stalls:    m.Counter("stalls_total", "Stalls of circuits in which servers may have dropped updates."),
		eventsOff: m.Counter("events_off_total", "EVENTS_OFF requests, which make a server hold its updates because the client is behind."),
	}
}
