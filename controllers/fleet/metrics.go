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
			"Lists of the engines' Leases that failed. No engine is taken for dead meanwhile."),
		reportFailures: counter("varve_operator_report_failures_total",
			"Reports that engines did not give."),
		deaths: counter("varve_operator_engine_deaths_total",
			"Engines whose Lease was not renewed in time."),
	}
	r.MustRegister(m.leaseFailures, m.reportFailures, m.deaths)
	return m
}
