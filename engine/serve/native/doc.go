// Package native serves Varve's own HTTP API, in JSON and as tables:
//
//	/api/v1/channels, /channels/{pv} ◀── capture: state, rate, losses
//	/api/v1/why/{pv}                 ◀── why: the one reason why a PV has no samples
//	/api/v1/status                   ◀── the same, summed by group
//	/api/v1/samples, /marks          ◀── query: samples and marks
//	/api/v1/samples?points=          ◀── query: bins of samples
//	/api/v1/metadata                 ◀── query: metadata of a PV, over time
//	/api/v1/samples?align=           ◀── align: a table of PVs with common times
//	/api/v1/samples?where=, /intervals ◀── predicate: samples and times for which a condition holds
//	/api/v1/snapshot                 ◀── query: the last samples at a time, with units and limits
//	/api/v1/names                    ◀── query: names by pattern, or by likeness
//
// Calls that read samples share one sequence: see Handler.read.
//
// Times are RFC 3339 in UTC to the nanosecond. An error is {"error": "…"}. Its status code
// distinguishes errors of the client (4xx) from errors of the server (5xx).
package native
