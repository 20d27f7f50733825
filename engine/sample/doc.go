// Package sample defines what an archive holds: values with their time, alarm
// and type, marks that explain why there is no data, and metadata.
//
// It is the leaf that every other engine package imports:
//
//	ca, pva, sim ── Sample ──▶ capture ── Run ──▶ block, journal ──▶ store
//	                             │                                     │
//	                             └── Mark, Metadata ───────────────────┤
//	                                                  query ◀── Run ───┘
//
// An archive is a set: two samples are the same when time, alarm and value are
// the same, bit for bit. Samples of equal time and different value or alarm are
// different, and both are kept in order of arrival.
package sample
