// Package pva is a pvAccess client in pure Go: a capture.Source. The kernel of
// engine/client finds servers, and finds them again; this package is the protocol.
//
//	Subscribe ──▶ client.Kernel ──▶ udp: SEARCH in datagrams ──▶ answers ──▶ Kernel.Found
//	                 ▲       ▲                                                  │
//	            lost │       │ new server                                       ▼
//	                 │    beacons                                          circuit.Attach
//	                 │
//	              circuit ┬ reads ─▶ frames ─▶ segments ─▶ slots[ioid]
//	                      │                                  │ changed fields
//	                      │                               record ─▶ Sample, Metadata ─▶ Sink
//	                      └ writes ◀─ outbox ◀─ CREATE_CHANNEL, MONITOR, ECHO
//
// An update has only the fields that changed. So every channel has a record: the fields
// that matter, in canonical form (engine/pva/proto). A layout, which all channels of one
// type share, says where the fields are in the record, what each is for, and how a record
// becomes a sample: the value of a normative type of a scalar, array or enumeration, and
// any other structure whole.
//
// A circuit handles all the frames of one read under its lock, once; there is no lock,
// map or allocation per event.
//
// A server does not always report the updates that it dropped. The client suspects lost
// updates (Sink.Suspect)
//
//   - in a stall, after which a channel gets a full queue of updates at once;
//   - in the silence that ends a circuit;
//   - in the time in which a frame came in, if the circuit ended before the frame did. The
//     updates that the server sent meanwhile are behind the frame, or became part of it if
//     its length is wrong.
package pva
