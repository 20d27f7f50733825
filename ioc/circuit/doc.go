// Package circuit serves the TCP connection of one client. A Speaker implements the protocol.
// The package reads requests, and decides when the Speaker sends which updates.
//
//	client ─▶ receive ─▶ Speaker.Handle ─▶ answers ─┐
//	                                                ├─▶ client
//	clock ─▶ Circuit ──▶ Speaker.Send ───▶ updates ─┘
//
// A circuit has two goroutines. One owns all state of the circuit and of the Speaker, and the
// other reads requests. Updates are sent in turns: a turn is the set of updates that are due
// at the same time (see sim.Schedule). A circuit queues nothing. If the client is slow, the
// circuit lags behind the clock, and computes the late updates when it can send them. If it
// lags by more than Config.MaxLag, it skips whole turns and counts their updates as dropped.
package circuit
