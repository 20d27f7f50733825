// Package ca is a Channel Access client in pure Go: a capture.Source.
//
//	Subscribe ──▶ channel ──▶ search.Queue ──▶ UDP datagrams, name servers
//	               ▲   ▲          ▲                 │ SEARCH answers
//	          lost │   │ absence  │ news            ▼
//	               │   └─ probe ──┼──────────▶ circuit (one per server address)
//	               └──────────────┼──────────────┤ reads ─▶ frames ─▶ slots[subscription id] ─▶ Sink
//	                              │              └ writes ◀─ outbox ◀─ CREATE_CHAN, EVENT_ADD, ECHO, …
//	         beacons ◀─ port 5065 or repeater
//
// A channel is either searched for, owned by the client and its lock, or on a
// circuit, owned by the circuit and its lock. A circuit handles all the frames
// of one read under its lock, once; there is no lock, map or allocation per
// event. Locks are taken in the order circuit, client, outbox.
//
// Goroutines: one that searches, one that receives datagrams, one that resolves
// host names, one that hears beacons, one per name server, one per server that was
// lost and is missed, and two per circuit. Close ends them all.
//
// # Finding servers again
//
// Names are searched for with delays that double up to 5 s, or so far that all
// together take 2,000 searches a second. A name that nobody has for longer is searched
// for every 16th of that time, at least once a minute. Three things are faster:
//
//   - A beacon of a server that came up has all names searched for as new ones, but no
//     more often than all can be at 2,000 a second.
//   - Where beacons do not arrive, the address of a server that was lost is probed by
//     TCP: at first several times a second, in the end every 15 s, as long as a channel
//     that was there is searched for. When it connects, it is asked for these channels.
//   - A name server that connects is asked at once.
//
// # Lost updates
//
// The protocol does not tell of updates that a server dropped because the circuit
// took none. They are suspected (Sink.Suspect) after a stall, once for each, for the
// channels of the circuit that had an update in the 10 s before it. A stall is
//
//   - a gap between updates of at least 3 s, and of 4 times the longest that the
//     circuit had in the last 30 to 60 s, that a burst ends: within 250 ms come more
//     than 1.5 times the updates that came in any 250 ms before. So a server that pauses
//     is no stall, nor is a circuit that is quiet or irregular. It does not matter
//     whether the server, the network or this process stood still;
//   - such a gap at the end of a circuit: the server, or the network, is gone;
//   - the time of a frame of which only a part came before the end: what the server
//     sent meanwhile is behind it, or was taken for a part of it, if its length is wrong;
//   - the time in which this client was behind: every read filled its buffer, for
//     2 s and until the next that did not. After the 2 s the server is told
//     EVENTS_OFF, and EVENTS_ON when all was read. A backlog that is read faster, as
//     after a short stop of this process, does not come to that.
//
// A circuit is judged from 10 s after its first update on; what comes in the first 5 s,
// when all channels send their values, does not count as usual.
package ca
