// Package search has what clients of Channel Access and pvAccess share in finding
// the servers of channels: when to ask for which name, and where.
//
//	Entry ── Add ──▶ Queue ── Round ──▶ SEARCH messages ─┬─▶ Destinations, by UDP
//	                  ▲                                  └─▶ name servers, by TCP
//	                  └─ News: a server came up
//
// A search costs every server of a network some work, so all of it is bounded: a
// name is asked for with growing delays, many names with longer ones, rounds have
// a size, and news are taken up a few times at most. All delays are jittered, as
// many clients and channels lose a server together.
//
// Penalties keep a client from servers that break circuits.
package search
