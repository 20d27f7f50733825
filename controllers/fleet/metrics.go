package fleet

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	leaseFailures, reportFailures, deaths prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		leaseFailures: counter("varve_operator_lease_list_failures_total",
			"Failed attempts to list the Leases of engines. No engine counts as dead meanwhile."),
		reportFailures: counter("varve_operator_report_failures_total",
			"Failed requests for the report of an engine."),
		deaths: counter("varve_operator_engine_deaths_total",
			"Engines that did not renew their Lease in time."),
	}
	r.MustRegister(m.leaseFailures, m.reportFailures, m.deaths)
	return m
}
