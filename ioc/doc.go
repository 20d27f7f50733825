// Package ioc is a simulated IOC: a server of Channel Access and of pvAccess in pure
// Go that serves made-up PVs. It is for demonstrations and tests, and the load of
// benchmarks.
//
//	                      ┌─ ca.Server ──┐
//	client ─▶ Server, TCP ┤              ├─ circuit.Circuit ─▶ client
//	                      └─ pva.Server ─┘      │ turns, ticks
//	client ─▶ Server, UDP ─▶ Answer ─▶ client   ▼
//	                                     sim: names, values, schedule
//
// The value of a PV is a pure function of its kind, its index and the number of
// the update, the tick; so a receiver can compute what it should have got. It is the
// same by both protocols. The channels of a period are spread over slices of about
// 10 ms. All updates of a slice have one time stamp: the time at which the slice was
// due.
//
// A slow client loses whole updates. The server counts them; pvAccess also notifies the
// client. With a rate of 0 there is no clock: every circuit sends as fast as its client reads,
// has ticks of its own, and drops nothing.
package ioc
