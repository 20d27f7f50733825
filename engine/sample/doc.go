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
// An archive is a set: two samples are the same sample if their times, alarms and
// values are equal, bit for bit. If two samples have the same time but different
// values or alarms, both are kept, in order of arrival.
package sample
