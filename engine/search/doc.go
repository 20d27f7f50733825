// Package search decides when and where the clients of Channel Access and pvAccess search for
// each name. engine/client uses it.
//
//	Entry ── Add ──▶ Queue ── Round ──▶ Batch ─┬─▶ Socket ──▶ Destinations, by UDP
//	                  ▲                        └─▶ NameServers, by TCP
//	                  └─ NoteAnomaly: a beacon showed that a server has started
//
//	Entry ── Add ──▶ Prober ── probe by TCP ──▶ Circuit ── RequestLost
//
// Each search costs every server of a network some work. The package therefore limits searches:
//
//   - The delays between the searches for a name grow. They grow further if there are many
//     names. For a name that no server has had for long, they grow to a minute.
//   - The size of a round is limited. The limit grows only while answers arrive.
//   - Beacon anomalies hasten the search, but only at a limited rate.
//   - All delays are jittered, because many clients and channels lose a server together.
//
// Queue.Answers and Destinations.Reach help to decide whether an answer is from a host that got
// the search.
//
// The protocols turn a Batch into messages. A NameCircuit knows when its server accepts
// searches, and a Circuit knows how to request channels of a server that came back.
//
// Penalties keep a client away from servers that break circuits, and Duplicates reports names
// for which two servers answer.
package search
