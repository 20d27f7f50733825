// Package pva serves simulated PVs over pvAccess, as QSRV of EPICS 7 serves records:
// as NTScalar, NTScalarArray and NTEnum with all their properties.
//
//	pvRequest ─▶ mask ─┐
//	                   ├─▶ shape: templates of messages ─┐ patched: value, time
//	layout of a kind ──┘                                 ▼
//	client ─▶ requests ─▶ session ─▶ subscriptions, by slice ─▶ updates ─▶ client
//	client ─▶ datagram ─▶ Server.AppendAnswer ─▶ datagram ─▶ client
//
// A layout is a kind's type, and what fills each field. Most subscriptions of a client
// ask for the same fields of few kinds. So their updates differ in the number of the
// operation, in the value, and with alarms in one of three constants: a shape holds a
// message for each severity, whose time is set once per turn, and an event copies it
// and sets the rest. That takes no lock, no map and no allocation per event.
//
// A client that acknowledges updates (a pipeline) and has used up its window misses turns.
// When it acknowledges again, it gets the last missed update, marked as overrun if it missed
// several. The first update after updates that a lagging circuit dropped is marked as overrun,
// too. Without a clock nothing is dropped: turns wait for the client.
package pva
