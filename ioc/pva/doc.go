// Package pva serves simulated PVs over pvAccess in the same way as QSRV of EPICS 7 serves
// records: as NTScalar, NTScalarArray and NTEnum with all their properties.
//
//	pvRequest ─▶ mask ─┐
//	                   ├─▶ shape: templates of messages ─┐ patched: value, time
//	layout of a kind ──┘                                 ▼
//	client ─▶ requests ─▶ session ─▶ subscriptions, by slice ─▶ updates ─▶ client
//	client ─▶ datagram ─▶ Server.AppendAnswer ─▶ datagram ─▶ client
//
// A layout has the type of a kind, and the data for each field. Most subscriptions of a client
// request the same fields of few kinds. Therefore their updates differ only in the number of
// the operation, the value and the alarm, which has one of three severities. A shape holds a
// message for each severity, and sets its time once per turn. For an event, the session copies
// the message, and sets the number and the value. An event costs no lock, no map access and no
// allocation.
//
// A client that acknowledges updates (a pipeline) misses turns when it has used up its window.
// When it acknowledges again, it gets the last missed update, marked as overrun if it missed
// several. After a lagging circuit has dropped updates, the next update is also marked as
// overrun. Without a clock, turns wait for the client, and nothing is dropped.
package pva
