// Package ioc is a simulated IOC: a Channel Access server in pure Go that serves
// made-up PVs. It is for demonstrations and tests, and the load of benchmarks.
//
//	clock ─▶ turn (slice, tick) ─▶ Value(kind, index, tick)
//	                                     │ patched in place
//	                                     ▼
//	client ─▶ requests ─▶ circuit ─▶ frames of its subscriptions ─▶ client
//	client ─▶ datagram ─▶ search ─▶ datagram ─▶ client
//
// The value of a PV is a pure function of its kind, its index and the number of
// the update, the tick; so a receiver can compute what it should have got. The
// channels of a period are spread over slices of about 10 ms. All updates of a
// slice have one time stamp: the time at which the slice was due.
//
// A circuit is one goroutine that owns all of the circuit's state, and one that
// reads for it. It keeps the frames of all its subscriptions encoded, patches
// time, alarm and value in place, and writes them in large pieces: no lock, no
// map and no allocation per event. It queues nothing. A circuit whose client is
// slow lags behind the clock; it catches up from what it can compute, up to
// Config.MaxLag, and past that drops whole updates and counts them.
//
// With a rate of 0 there is no clock: every circuit sends as fast as its client
// reads, has ticks of its own, and drops nothing.
package ioc
