// Package jsonaccess serves the JSON archive access protocol 1.0 of the Cassandra PV Archiver and
// of the JSON archive proxy. Phoebus reads it with URLs such as json:http://…;key=1.
//
//	/archive/                          ──▶ the list of archives: only key 1
//	/archive/1/channels-by-pattern/…   ──▶ query.Reader.Names ──▶ names
//	/archive/1/channels-by-regexp/…    ──▶ query.Reader.Names ──▶ names
//	/archive/1/samples/NAME?start&end  ──▶ open ─┬─ Read, or Bins if count is set ──┐
//	                                             ├─ Marks ──▶ events: gaps ─────────┼─▶ answer ─▶ client
//	                                             ├─ MetadataHistory ────────────────┤
//	                                             └─ the first sample after the end ─┘
//
// An answer has one item at or before the start and one at or after the end, if they exist, so
// that a plot reaches both of its edges. Where the PV was disconnected, where its group was paused,
// and where its engine died, the answer has an item without a value, as the Cassandra PV Archiver
// writes it. Phoebus breaks the line there. If the PV has the same value when it is connected
// again, no new sample is stored. In this case the answer repeats the value.
//
// Phoebus refuses an answer with fields that it does not know, and an enumeration without the
// list of its states. It ignores the samples after an integer that exceeds 64 bits with a sign.
package jsonaccess
