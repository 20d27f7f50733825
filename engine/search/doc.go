// Package search has what clients of Channel Access and pvAccess share in finding
// the servers of channels: when to ask for which name, and where.
//
//	Entry ── Add ──▶ Queue ── Round ──▶ Batch ─┬─▶ Socket ──▶ Destinations, by UDP
//	                  ▲                        └─▶ NameServers, by TCP
//	                  └─ News: a server came up
//
//	Entry ── Miss ──▶ Absences ── probe by TCP ──▶ Circuit ── Ask
//
// A search costs every server of a network some work, so all of it is bounded: a name
// is asked for with growing delays, many names with longer ones, and one that nobody
// has for long once a minute; rounds have a size, which grows only while answers come;
// and news are paid for with time. All delays are jittered, as many clients and
// channels lose a server together.
//
// The protocols are the clients': a Batch becomes messages there; when a server can be
// asked for names, and how one that came back is, a NameCircuit and a Circuit know.
//
// Penalties keep a client from servers that break circuits, and Rivals report names
// that two servers have.
package search
