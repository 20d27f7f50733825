// Package search decides when clients of Channel Access and pvAccess search for which
// names, and where. engine/client uses it.
//
//	Entry ── Add ──▶ Queue ── Round ──▶ Batch ─┬─▶ Socket ──▶ Destinations, by UDP
//	                  ▲                        └─▶ NameServers, by TCP
//	                  └─ NoteAnomaly: a beacon showed that a server came up
//
//	Entry ── Add ──▶ Prober ── probe by TCP ──▶ Circuit ── RequestLost
//
// Each search costs every server of a network some work. So the package bounds searches:
// the delays between searches for a name grow, with many names further, and to a minute
// for a name that no server had for long. Rounds have a size, which grows only while
// answers come. Beacon anomalies hasten the search only now and then. All delays are
// jittered, because many clients and channels lose a server together.
//
// The protocols turn a Batch into messages. A NameCircuit knows when its server takes
// searches, and a Circuit knows how to request channels of a server that came back.
//
// Penalties keep a client away from servers that break circuits, and Duplicates reports
// names that two servers have.
package search
