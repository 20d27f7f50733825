// Package ca is a Channel Access client in pure Go: a capture.Source.
//
//	Subscribe ──▶ channel ──▶ search queue ──▶ UDP datagrams, name servers
//	                 ▲                              │ SEARCH answers
//	                 │ lost                         ▼
//	              circuit (one per server address) ◀── channel
//	                 │ reads ─▶ frames ─▶ slots[subscription id] ─▶ Sink
//	                 └ writes ◀─ outbox ◀─ CREATE_CHAN, READ_NOTIFY, EVENT_ADD, ECHO
//
// A channel is either searched for, owned by the client and its lock, or on a
// circuit, owned by the circuit and its lock. A circuit handles all the frames
// of one read under its lock, once; there is no lock, map or allocation per
// event. Locks are taken in the order circuit, client, outbox.
//
// Goroutines: one that searches, one that receives datagrams, one that resolves
// host names, one per name server, and two per circuit. Close ends them all.
package ca
