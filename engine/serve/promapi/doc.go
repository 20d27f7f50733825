// Package promapi serves the part of Prometheus' HTTP API with which Grafana plots time series. Each PV
// is a metric with its name, and without other labels:
//
//	query, query_range ──parse──▶ expression ──▶ PVs ──┬─ PV                ▶ held      ─┐
//	                                                   └─ avg_over_time(PV) ▶ overTime  ─┴▶ matrix, vector
//	series, label values ───────▶ selectors ──▶ names of PVs
//	metadata ───────────────────▶ units, descriptions
//
// # Expressions
//
//	NAME   {"NAME"}   {__name__=~"REGEXP"}           the value that each PV has at a time
//	FUNCTION_over_time(SELECTOR[DURATION])           avg, min, max, count or last in the time before
//	NUMBER   NUMBER + NUMBER                         with + - * /, as Grafana sends it to test a server
//
// Anything else is refused with an error that says what is accepted, because a part of PromQL that is
// evaluated in another way gives a wrong plot.
//
// # Values
//
// A PV holds a value until its next sample, regardless of how old it is. It has no value in gaps, after
// losses, where it is undefined, and after the time until which the samples are complete. avg_over_time
// weights each value by the time for which it was held, as rollups do, and uses stored rollups. A window
// of DURATION ends just before its time.
package promapi
