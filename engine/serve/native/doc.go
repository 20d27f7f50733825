// Package native serves Varve's own HTTP API, in JSON:
//
//	/api/v1/channels, /channels/{pv} ◀── capture: state, rate, losses
//	/api/v1/status                   ◀── the same, summed by group
//	/api/v1/samples, /marks          ◀── query: what the archive holds
//	/api/v1/samples?points=          ◀── query: bins of it
//	/api/v1/metadata                 ◀── the same: what a PV told of itself, over time
//
// Times are RFC 3339 in UTC to the nanosecond. An error is {"error": "…"} with a
// status code that says whose it is.
package native
