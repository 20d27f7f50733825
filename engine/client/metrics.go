package client

import (
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/sample"
)

// Metrics are the metrics that both protocols have. A protocol adds its own metrics with
// Counter and Gauge before it calls New, which registers all of them.
type Metrics struct {
	subsystem string
	all       []prometheus.Collector

	Channels        [numStates]prometheus.Gauge
	Circuits        prometheus.Gauge
	CircuitsEnded   prometheus.Counter
	ConnectFailures prometheus.Counter
	Events          prometheus.Counter
	ReceivedBytes   prometheus.Counter
	SentBytes       prometheus.Counter
	ReceiveWaits    prometheus.Counter
	Searches        prometheus.Counter
	Datagrams       prometheus.Counter
	DatagramErrors  prometheus.Counter
	LookUpErrors    prometheus.Counter
	Duplicates      prometheus.Counter
	Probes          prometheus.Counter
	Beacons         prometheus.Counter
	dropped         [sample.NumReasons]prometheus.Counter
	refused         [numRefusals]prometheus.Counter // answers, by reason
	checks          [numCheckResults]prometheus.Counter
}

// NewMetrics returns the metrics of a protocol. Their names begin with varve_SUBSYSTEM_.
// datagramErrors is the name of the counter of datagrams that could not be sent or received.
// reasons has the reasons for which the protocol drops updates.
func NewMetrics(subsystem, datagramErrors string, reasons ...sample.Reason) *Metrics {
	m := &Metrics{subsystem: subsystem}
	m.Circuits = m.Gauge("circuits", "TCP circuits that are connected.")
	m.CircuitsEnded = m.Counter("circuits_ended_total", "Circuits that were connected and ended.")
	m.ConnectFailures = m.Counter("connect_failures_total", "Circuits that could not be connected.")
	m.Events = m.Counter("events_total", "Updates received from servers.")
	m.ReceivedBytes = m.Counter("received_bytes_total", "Bytes received on circuits.")
	m.SentBytes = m.Counter("sent_bytes_total", "Bytes sent on circuits.")
	m.ReceiveWaits = m.Counter("receive_wait_seconds_total", "Time in which circuits were not read, because the memory for receiving was in use.")
	m.Searches = m.Counter("searches_total", "Channel names searched for, repeated searches included.")
	m.Datagrams = m.Counter("search_datagrams_total", "UDP datagrams of searches sent.")
	m.DatagramErrors = m.Counter(datagramErrors, "UDP datagrams that could not be sent or received.")
	m.LookUpErrors = m.Counter("lookup_errors_total", "Host names that could not be resolved.")
	m.Duplicates = m.Counter("duplicate_servers_total", "Channels for which a second server answered.")
	m.Probes = m.Counter("probes_total", "Attempts to connect to servers that were lost.")
	m.Beacons = m.Counter("beacons_total", "Beacons received from servers.")
	states := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "varve", Subsystem: subsystem, Name: "channels", Help: "Subscribed channels by state.",
	}, []string{"state"})
	for s := range m.Channels {
		m.Channels[s] = states.WithLabelValues(stateNames[s])
	}
	drops := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "varve", Subsystem: subsystem, Name: "dropped_total", Help: "Updates not delivered, by reason.",
	}, []string{"reason"})
	for _, reason := range reasons {
		m.dropped[reason] = drops.WithLabelValues(reason.String())
	}
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "varve", Subsystem: subsystem, Name: "search_answers_dropped_total", Help: "Answers to searches that the client did not use, by reason.",
	}, []string{"reason"})
	for r := refusal(1); r < numRefusals; r++ {
		m.refused[r] = answers.WithLabelValues(refusalNames[r])
	}
	checks := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "varve", Subsystem: subsystem, Name: "subscription_checks_total",
		Help: "Checks of channels without updates, by result: same value, changed without an update and subscribed again, healed by that, failed, unanswered.",
	}, []string{"result"})
	for r := range m.checks {
		m.checks[r] = checks.WithLabelValues(checkResults[r])
	}
	m.all = append(m.all, states, drops, answers, checks)
	return m
}

// Counter adds a counter.
func (m *Metrics) Counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: m.subsystem, Name: name, Help: help})
	m.all = append(m.all, c)
	return c
}

// Gauge adds a gauge.
func (m *Metrics) Gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "varve", Subsystem: m.subsystem, Name: name, Help: help})
	m.all = append(m.all, g)
	return g
}

// Drop counts an update that is not delivered.
func (m *Metrics) Drop(reason sample.Reason) { m.dropped[reason].Inc() }

// register registers the metrics, unless r is nil.
func (m *Metrics) register(r prometheus.Registerer) {
	if r != nil {
		r.MustRegister(m.all...)
	}
}
