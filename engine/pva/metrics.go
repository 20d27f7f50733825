package pva

import (
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/sample"
)

// metrics are the metrics of one Client.
type metrics struct {
	*client.Metrics
	messages prometheus.Counter
}

func newMetrics() *metrics {
	m := client.NewMetrics("pva", "datagram_errors_total", sample.TooLarge, sample.Malformed, sample.Overrun)
	return &metrics{
		Metrics:  m,
		messages: m.Counter("server_messages_total", "Warnings and errors in text messages of servers."),
	}
}
