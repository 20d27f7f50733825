// Package ioc is a simulated IOC in pure Go. It serves simulated PVs over Channel Access and
// pvAccess, for demonstrations, tests and benchmarks.
//
//	                      ┌─ ca.Server ──┐
//	client ─▶ Server, TCP ┤              ├─ circuit.Circuit ─▶ client
//	                      └─ pva.Server ─┘      │ turns, ticks
//	client ─▶ Server, UDP ─▶ Answer ─▶ client   ▼
//	                                     sim: names, values, schedule
//
// The value of a PV is a pure function of its kind, its index and the number of the update,
// the tick. Thus a receiver can compute the values that it should have received. Both
// protocols serve the same values. The channels of a period are spread over slices of about 10
// ms. All updates of a slice have the same time stamp: the time at which the slice was due.
//
// A slow client loses whole updates. The server counts them, and pvAccess also notifies the
// client. With a rate of 0 there is no clock. Then every circuit sends as fast as its client
// reads, has its own ticks, and drops nothing.
package ioc
