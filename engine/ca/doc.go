// Package ca is a Channel Access client in pure Go: a capture.Source. The kernel of
// engine/client finds servers, and finds them again; this package is the protocol.
//
//	Subscribe ──▶ client.Kernel ──▶ udp: SEARCH in datagrams ──▶ answers ──▶ Kernel.Found
//	                 ▲       ▲                                                  │
//	            lost │       │ anomaly                                          ▼
//	                 │    beacons ◀─ port 5065 or repeater                 circuit.Attach
//	                 │
//	              circuit ┬ reads ─▶ frames ─▶ slots[subscription id] ─▶ Sink
//	                      └ writes ◀─ outbox ◀─ CREATE_CHAN, EVENT_ADD, ECHO, …
//
// A circuit handles all the frames of one read under its lock, once; there is no lock,
// map or allocation per event.
//
// # Finding servers again
//
// The client searches for a name with delays that double up to 5 s, or further if there
// are so many names that all together take 2,000 searches a second. Later, the delay for
// a name is a 16th of the time that no server had it, at most a minute. Three things are
// faster:
//
//   - A beacon anomaly shows that a server came up: the client searches for all names as
//     for new ones, but so seldom that all names fit into 2,000 searches a second.
//   - Where beacons do not arrive, the client probes the address of a lost server by TCP:
//     at first several times a second, in the end every 15 s, as long as it searches for
//     a channel of the server. When the server accepts the connection, the client
//     requests these channels.
//   - A name server that connects is searched at once.
//
// # Lost updates
//
// A server drops updates that its circuit does not take, and the protocol does not report
// them. The client suspects them (Sink.Suspect) after a stall, once for each, for the
// channels of the circuit that had an update in the 10 s before it. A stall is one of
// these:
//
//   - A gap between updates of at least 3 s, and at least 4 times the longest gap that
//     the circuit had in the last 30 to 60 s, that a burst ends: within 250 ms come more
//     than 1.5 times as many updates as in any 250 ms before. So a server that pauses is
//     no stall, and neither is a quiet or irregular circuit. It does not matter whether
//     the server, the network or this process stood still.
//   - Such a gap at the end of a circuit: the server, or the network, is gone.
//   - The time in which a frame came in, if the circuit ended before the frame did. The
//     updates that the server sent meanwhile are behind the frame, or became part of it
//     if its length is wrong.
//   - The time in which this client was behind: every read filled its buffer, for 2 s and
//     until the next read that did not. After the 2 s the client sends EVENTS_OFF, and
//     EVENTS_ON when all was read. A backlog after a short stop of this process is read
//     faster than that.
//
// The client judges a circuit from 10 s after its first update on. Updates in the first
// 5 s, when all channels send their values, do not count as usual.
package ca
