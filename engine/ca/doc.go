// Package ca is a Channel Access client in pure Go. It implements capture.Source. The kernel
// of engine/client finds servers, and finds them again after they are lost. This package
// implements the protocol.
//
//	Subscribe ──▶ client.Kernel ──▶ udp: SEARCH in datagrams ──▶ answers ──▶ Kernel.Found
//	                 ▲       ▲                                                  │
//	            lost │       │ anomaly                                          ▼
//	                 │    beacons ◀─ port 5065 or repeater                 circuit.Attach
//	                 │
//	              circuit ┬ reads ─▶ frames ─▶ slots[subscription id] ─▶ Sink
//	                      └ writes ◀─ outbox ◀─ CREATE_CHAN, EVENT_ADD, ECHO, …
//
// A circuit locks once per read and then handles all frames of that read. An event costs no
// lock, no map access and no allocation.
//
// # Finding servers again
//
// The client searches for a name with delays that double up to 5 s. The delays grow further if
// the client would otherwise send more than 2,000 searches per second. Later, the delay for a
// name is a 16th of the time in which no server had the name, and at most a minute. In three
// cases the client finds servers sooner:
//
//   - A beacon anomaly shows that a server has started. The client then searches for all names
//     as if they were new. It does so at most once in the time that a search for all names
//     takes at 2,000 searches per second.
//   - Where beacons do not arrive, the client probes the address of a lost server by TCP, at
//     first several times per second and finally every 15 s. It probes as long as it searches
//     for a channel of the server. When the server accepts the connection, the client requests
//     these channels.
//   - When a name server connects, the client searches on it at once.
//
// # Lost updates
//
// When a circuit is full, its server drops updates, and the protocol does not report the loss.
// After each stall the client therefore reports a possible loss (Sink.Suspect) once to each
// channel of the circuit that had an update in the 10 s before the stall. A stall is one of
// these:
//
//   - A gap between updates that ends with a burst. The gap lasts at least 3 s, and at least 4
//     times as long as the longest gap of the last 30 to 60 s. In the burst, more than 1.5
//     times as many updates arrive within 250 ms as in any 250 ms before. Thus a server that
//     pauses causes no stall, and neither does a quiet or irregular circuit. It does not
//     matter whether the server, the network or this process stood still.
//   - A gap of this length at the end of the circuit, without a burst: the server or the
//     network has failed.
//   - The time in which a frame arrived, if the circuit ended before the end of the frame. The
//     client never read the updates that the server sent after the frame. If the length of the
//     frame is wrong, it took these updates for a part of the frame.
//   - The time in which this client was behind: every read filled the buffer for at least 2 s.
//     After 2 s the client sends EVENTS_OFF. It sends EVENTS_ON when it has read everything,
//     and the stall ends. After a short stop of this process, the client reads the backlog in
//     less than 2 s.
//
// The subscription of one channel may die while the circuit is alive. If a channel has had no
// update for Config.CheckEvery, the client reads its value. If the value differs from the last
// sample, the client reports a possible loss and subscribes again. If the server does not answer,
// the channel is lost.
//
// The client finds stalls only after a circuit has had updates for at least 10 s. The first 5 s
// do not count for the usual gaps and numbers of updates, because then all channels send their
// values.
package ca
