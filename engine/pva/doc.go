// Package pva is a pvAccess client in pure Go: a capture.Source.
//
//	Subscribe ──▶ channel ──▶ search.Queue ──▶ UDP datagrams, name servers
//	                 ▲                              │ SEARCH_RESPONSE
//	                 │ lost                         ▼
//	              circuit (one per server address) ◀── channel
//	                 │ reads ─▶ frames ─▶ segments ─▶ slots[ioid]
//	                 │                                  │ changed fields
//	                 │                               record ─▶ Sample, Metadata ─▶ Sink
//	                 └ writes ◀─ outbox ◀─ CREATE_CHANNEL, MONITOR, ECHO
//
// An update has the fields that changed only. So every channel has a record: the
// fields that matter, in canonical form (engine/pva/proto). A layout, which all
// channels of one type share, says where they stand in it, what each is for, and
// how a record becomes a sample: the value of a normative type of a scalar, array or
// enumeration, and any other structure whole.
//
// A channel is either searched for, owned by the client and its lock, or on a
// circuit, owned by the circuit and its lock. A circuit handles all the frames
// of one read under its lock, once; there is no lock, map or allocation per
// event. Locks are taken in the order circuit, client, outbox.
//
// Three things bring lost channels back: searches, with back-off; beacons, which
// have all names searched for soon; and probes by TCP of the address that channels
// were lost at (search.Absences), for beacons do not reach pods.
//
// A server does not always tell what it dropped. Updates are suspected to be lost
// (Sink.Suspect) in a stall, after which a channel gets a full queue of them at once; in
// the silence that ends a circuit; and from the begin of a frame of which only a part
// came before the circuit ended: what the server sent meanwhile is behind it, or was
// taken for a part of it, if its length is wrong.
//
// Goroutines: one that searches, one that receives datagrams, one that resolves
// host names, one per address that beacons are received on, one per name server, one
// per lost server, and two per circuit. Close ends them all.
package pva
