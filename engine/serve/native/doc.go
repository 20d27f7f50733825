// Package native serves Varve's own HTTP API, in JSON:
//
//	/api/v1/channels, /channels/{pv} ◀── capture: state, rate, losses
//	/api/v1/status                   ◀── the same, summed by group
//	/api/v1/samples, /marks          ◀── query: samples and marks
//	/api/v1/samples?points=          ◀── query: bins of samples
//	/api/v1/metadata                 ◀── query: metadata of a PV, over time
//	/api/v1/names                    ◀── query: names by pattern, or by likeness
//
// Times are RFC 3339 in UTC to the nanosecond. An error is {"error": "…"}. Its status code
// distinguishes errors of the client (4xx) from errors of the server (5xx).
package native
