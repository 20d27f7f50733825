// Package explore serves what a plot of PVs needs, under /api/v1: columns of bins on a common grid,
// gaps with their causes, live updates, statistics of a range, and the PVs whose behaviour changed in it.
//
//	/api/v1/bins ◀── query: few samples as they are, many as bins ──▶ JSON, or binary frames
//	/api/v1/arrays ◀── query: an array of each interval ──▶ JSON, or a binary frame
//	/api/v1/gaps ◀── query: marks ──▶ times without updates, and losses
//	/api/v1/statistics ◀── query: samples, or bins and samples at the ends; gaps ──▶ moments
//	/api/v1/changes ◀── query: bins of many PVs ──▶ package change: scores ──▶ the largest ones
//	/api/v1/live ◀── query: newest samples, again and again ──▶ Server-Sent Events
//
// Answers are bounded: in PVs, in bins and samples of each PV, in gaps, and in live streams at a
// time. An error is {"error": "…"}, as in package native.
package explore
