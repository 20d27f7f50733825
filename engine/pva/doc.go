// Package pva is a pvAccess client in pure Go. It implements capture.Source. The kernel of
// engine/client finds servers, and finds them again after they are lost. This package
// implements the protocol.
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
// An update has only the fields that changed. Therefore every channel has a record: the fields
// that samples and metadata need, in canonical form (engine/pva/proto). All channels of one
// type share a layout. The layout defines the place and the purpose of each field in the
// record, and how a record becomes a sample. For a normative type of a scalar, array or
// enumeration, a sample has the field value. For any other structure, it has the whole
// structure.
//
// A circuit locks once per read and then handles all frames of that read. An event costs no
// lock, no map access and no allocation.
//
// A server does not always report the updates that it dropped. The client therefore reports a
// possible loss (Sink.Suspect)
//
//   - for a stall after which a channel gets a full queue of updates at once;
//   - for the time of silence at the end of a circuit;
//   - for the time in which a frame arrived, if the circuit ended before the end of the frame.
//     The client never read the updates that the server sent after the frame. If the length of
//     the frame is wrong, it took these updates for a part of the frame.
//
// If a channel has had no update for Config.CheckEvery, the client starts its monitor again. If the
// first update differs from the last sample, the old monitor may have been dead, and the client
// reports a possible loss. If the server does not answer, the channel is lost.
package pva
